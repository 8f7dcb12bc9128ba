#pragma once

// The matrix product that recent editions bring along: files launch it or only include this header.

#define MATMUL_TILE_WIDTH 16

/// C = A · B, row-major, tiled in shared memory.
/// Grid: ceil(numCColumns / 16) × ceil(numCRows / 16); blocks of 16 × 16 threads.
/// @param A  numARows × numAColumns
/// @param B  numBRows × numBColumns, with numBRows = numAColumns
/// @param C  numCRows × numCColumns, numARows × numBColumns
__global__ void matrixMultiplyShared(const float* A, const float* B, float* C, int numARows,
                                     int numAColumns, int numBRows, int numBColumns, int numCRows,
                                     int numCColumns);
