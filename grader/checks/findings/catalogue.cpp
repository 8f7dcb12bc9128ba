#include "grader/checks/findings/catalogue.hpp"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <set>
#include <sstream>
#include <stdexcept>

#include "common/base/printable.hpp"
#include "grader/checks/findings/cuda_errors.hpp"
#include "grader/submission/sandbox/seccomp_filter.hpp"

namespace convlab::grader {

const std::vector<Diagnosis>& catalogue() {
  static const std::vector<Diagnosis> diagnoses = {
      // No output.
      {"E-not-implemented", "the exercise still has its not_implemented line",
       "Every exercise begins with this call. It ends the program, so nothing after it runs.",
       "If you have not begun: read the chapter, and write your code in place of this line. "
       "build/bin/grader hint m1 (or m2 to m4) gives one hint at a time. If your code is written: "
       "delete the line."},
      {"E-no-stage", "the file registers no stage",
       "The object `stage` at the end of the exercise is missing, or a static constructor ended "
       "early. Or a file for the course interface does not define its functions.",
       "Restore the last lines of the exercise. For the course interface, compare names and "
       "parameters with the headers in common/custom_submission/course_interface."},
      {"E-same-stage", "two stages have the same id, or there are too many",
       "Each stage counts once, under its own id.",
       "Give each stage its own id, in the object that registers it."},
      {"E-library", "the file calls a library that does the exercise",
       "The exercise is to write the convolution yourself.",
       "Write the kernel yourself, then compare it with the library (docs/performance.md)."},
      {"E-forbidden-call", "the file calls a function that no convolution needs",
       "The function uses processes, sockets or other programs' memory, or belongs to the grader.",
       "Remove the call. Mathematics, memory, threads, printing and the CUDA runtime are allowed."},
      {"E-no-program", "there is no program to check",
       "The milestone was not built, or building it failed.",
       "Build it, for example: cmake --build --preset lab --target m1"},
      {"E-build", "it does not compile", "The compiler found an error in the file.",
       "Fix the first error and check again. Later errors often follow from it."},
      {"E-exception", "the program threw an exception",
       "A container has no element with this index, or something that the program needs is "
       "missing.",
       "Read the message of the exception: it names the index or the call. In gdb, `catch throw` "
       "stops where it is thrown."},
      {"E-memory", "the program ran out of memory",
       "An array is larger than the memory: a factor of its size is wrong, or it grows with the "
       "batch, as an unrolled input does.",
       "Compute the array's size in bytes. If it is right, process the images in slices."},
      {"E-outside", "the program accesses memory outside its arrays",
       "An index lies past the end of the array or before its beginning. Often a loop's bound is "
       "one too large, or it is the size of another array.",
       "Print the indices just before that line. Compare each loop's bound with the sizes in the "
       "chapter's table."},
      {"E-grid-axes", "two dimensions of the grid are exchanged",
       "The launch counts images in one dimension of the grid and maps in another; the kernel "
       "reads "
       "them the other way round.",
       "Use the same dimension in both: for example grid.y and blockIdx.y for the map, grid.z and "
       "blockIdx.z for the image."},
      {"E-bytes", "a size is given in elements instead of bytes",
       "cudaMalloc and cudaMemcpy take sizes in bytes. A float has 4 bytes.",
       "Multiply the number of elements by sizeof(float)."},
      {"E-host-pointer", "a kernel gets a pointer to memory of the host",
       "A kernel can use device memory only. The launch passes the host's array instead of its "
       "copy on the device.",
       "Pass the pointer that cudaMalloc has set. Names such as device_input_ and host_output_ "
       "show where a pointer points."},
      {"E-barrier", "the threads of a block do not all reach the same barrier",
       "A __syncthreads() is inside an if, inside a loop that some threads leave earlier, or after "
       "a return that only some threads take.",
       "Let every thread of the block reach every barrier. Put conditions around loads and stores "
       "only, not around the barrier."},
      {"E-warp", "not all threads of a warp make a call that needs all",
       "Shuffles and matrix fragments work for 32 threads at once. The block has fewer threads, "
       "the mask leaves out lanes that make the call, or the call is inside an if that only some "
       "threads take.",
       "Launch whole warps (a multiple of 32 threads), name all lanes in the mask (0xffffffff), "
       "and move the call out of the if."},
      {"E-misaligned", "a vector access at a misaligned address",
       "A float4 must lie at a multiple of 16 bytes, a float2 or half2 at a multiple of its size. "
       "Rows of odd width break this rule.",
       "Check that offset and row length are multiples of the vector's length, or load single "
       "elements."},
      {"E-copy", "a copy or a free gets a wrong argument",
       "The order is cudaMemcpy(to, from, bytes, direction). The two pointers are exchanged, the "
       "direction is wrong, or the size is larger than the array.",
       "Compare the call in that line with this order, then its size with the allocation."},
      {"E-arithmetic", "an integer is divided by zero, or a kernel stops",
       "The program divides an integer by zero, an assert() fails, or the kernel calls __trap().",
       "Look at the divisor or the condition in that line."},
      {"E-unsupported", "the emulated device cannot do this",
       "The call may be right on a GPU; docs/emulation.md lists what is emulated.",
       "Check this stage on a machine with a GPU, or use another call."},
      {"E-not-copied-back", "nothing is copied back to the host",
       "The kernel's result stays in device memory.",
       "Add cudaMemcpy(host_output_, …, cudaMemcpyDeviceToHost) to epilog, or check the one "
       "there."},
      {"E-unwritten-memory", "the result is computed from memory that was never written",
       "New device memory and shared memory do not hold zeros. The kernel reads a part of an array "
       "or of a tile before anything is stored there.",
       "Find the line that should fill the element named above, and check its bounds."},
      {"E-leak", "device memory is not freed",
       "Every run of the convolution leaves memory allocated. After some thousand runs the device "
       "is full.",
       "In epilog, call cudaFree for every cudaMalloc in prolog."},
      {"E-writes-input", "the program writes into its input or weights",
       "These arrays are read-only; only the output may be written.",
       "Look for assignments to input[…] or weights[…], and for casts that take const away."},
      {"E-null", "the program uses a null pointer",
       "A pointer was never set, or an allocation failed and the program did not check it.",
       "Find where each pointer in that line gets its value."},
      {"E-device-pointer", "the host uses a device pointer",
       "The host reads or writes through a pointer from cudaMalloc, or passes it to free().",
       "Copy the array with cudaMemcpy and use the copy. Free device memory with cudaFree."},
      {"E-stack", "the stack overflows",
       "A large array is a local variable, or a function calls itself without end.",
       "Put large arrays into a std::vector."},
      {"E-crash", "the program crashes", "The program damaged its memory, or the system ended it.",
       "Undo your last change and check again; then repeat it in smaller steps. gdb --args "
       "build/bin/m1 2 shows the place."},
      {"E-forbidden", "the program asks for something that no convolution needs",
       "It starts processes, opens connections, accesses other programs or uses files outside its "
       "folder.",
       "Remove the call. Threads, memory and files in the current folder are allowed."},
      {"E-exit", "the program ended before it returned a result",
       "The program called exit() or _exit(). A convolution must return; printed text is not a "
       "result.",
       "Remove the call."},
      {"E-timeout", "the program does not finish",
       "A loop never ends (its counter is not increased, or overflows), or the work grows much "
       "faster than the image.",
       "Check the condition and the step of every loop. gdb -p PID shows where the program is."},
      {"E-slow", "too slow for an emulated device",
       "No loop hangs. An emulated barrier or atomic takes longer than many products, so a kernel "
       "that computes little between two of them is slow; or few threads do all the work.",
       "Check fewer images, --batches 20, or allow more: --time-limit SECONDS. On a GPU the check "
       "allows far more work."},
      {"E-flood", "the program prints without end", "There is a print statement inside the loops.",
       "Remove it, or print for one element only."},
      {"E-channel", "the grader cannot read the program's answer",
       "The program wrote to a file descriptor that it did not open.",
       "Write only to standard output or to files that you opened."},
      // Wrong output.
      {"E-never-written", "the output is never written",
       "The function returns before it stores anything, or stores into another array.",
       "Store each sum: output[…] = sum;"},
      {"E-partly-written", "a part of the output is never written",
       "A loop ends too early, or two elements are stored at the same place.",
       "Look at the bounds of the loops over the outputs and at the index of output[…]."},
      {"E-uninitialised", "sums are added to old values of the output",
       "The output is not zero when the function is called, and += adds to these old values.",
       "Add up in a local variable that starts at 0.0f, and store it once at the end."},
      {"E-nan", "the output holds NaN or infinity",
       "Something is used before it has a value: a variable, or memory that was not filled or "
       "cleared. Or a read goes outside the arrays.",
       "Check that the sum starts at zero: float sum = 0.0f; then check the indices of the line "
       "that adds."},
      {"E-writes-outside", "the program writes outside its output",
       "An index of output[…] is negative or too large. Often a bound is height instead of "
       "out_height(), or width instead of out_width().",
       "Print the smallest and the largest index that you store to. Compare them with the size of "
       "the output."},
      {"E-transposed-weights", "rows and columns of the filter are exchanged",
       "The weights' index is …·K + q for row p and column q; here the two are exchanged.",
       "Use p for the row of the image and of the filter, and q for the column of both."},
      {"E-flipped-weights", "the filter is rotated by 180 degrees",
       "Signal processing rotates a filter before it moves it over the image; neural networks do "
       "not.",
       "Use weight (p, q) with the pixel (h·S + p, w·S + q)."},
      {"E-weights-order", "channels and maps of the weights are exchanged",
       "Weights are stored as out_channels × in_channels × K × K: the map comes first.",
       "The index is ((m·C + c)·K + p)·K + q."},
      {"E-first-map", "every map is computed with the filter of the first map",
       "Every map has a filter of its own, and m says which.",
       "The index is ((m·C + c)·K + p)·K + q."},
      {"E-first-channel", "only the first channel is summed up",
       "c is missing from an index, or the loop over the channels runs once.",
       "Sum over c = 0 … C − 1, and use c in the index of input and weights."},
      {"E-last-channel", "only the last channel is summed up",
       "It looks as if the sum is set to zero inside the loop over the channels.",
       "Set it to zero before the loops over c, p and q; all three add to the same sum."},
      {"E-last-tap", "only the last product is kept",
       "It looks as if the line assigns the product instead of adding it.",
       "Write sum += input[…] * weights[…], with += instead of =."},
      {"E-stored-early", "the sum is stored before the last product is added",
       "It looks as if the store is inside the loops, before the line that adds.",
       "Store once, after the loops over c, p and q."},
      {"E-scaled", "every sum is multiplied by the same number",
       "A convolution only adds up products. Your code divides the sum, as for an average, or "
       "multiplies it or the weights by a factor.",
       "Store the sum as it is, without a division or a factor."},
      {"E-filter-edge", "a row or a column of the filter is left out",
       "The loop over p or q ends one step too early, or begins at 1.",
       "Let p and q run from 0 to K − 1: for (p = 0; p < K; ++p)."},
      {"E-padding", "the window is centred on the output, as with padding",
       "This convolution has no padding: the window of output (h, w) begins at (h·S, w·S).",
       "Remove the K / 2 from the index of the input."},
      {"E-rows-columns", "rows and columns of the image are exchanged",
       "The index of the input is (…·H + row)·W + column; here column and row are exchanged.",
       "Compute the row from h and p, and the column from w and q."},
      {"E-output-order", "every sum is right, but stored in the wrong place",
       "Two indices of the output are exchanged: b and m, or h and w.",
       "The index of the output is ((b·M + m)·H_out + h)·W_out + w."},
      {"E-activation", "negative sums do not stay negative",
       "The activation (ReLU) is a separate layer after the convolution.",
       "Store the sum as it is."},
      {"E-first-image", "every image gives the output of the first image",
       "Every image has its own part of the input, and b says which.",
       "The index of the input is ((b·C + c)·H + row)·W + column."},
      {"E-stride", "the stride is ignored",
       "The window moves by `stride` pixels from one output to the next, not by one.",
       "Read the input at row h·stride + p and column w·stride + q."},
      {"E-height-width", "height and width are exchanged",
       "On square images the result is still right. A row of the input has `width` elements.",
       "Multiply the row by width, never by height: (…·H + row)·W + column."},
      {"E-borders", "only the borders are wrong",
       "A loop over the outputs or over the filter ends one step too early or too late.",
       "There are out_height() × out_width() outputs. The last window ends at the last pixel."},
      {"E-images", "right for the first images, wrong for later ones",
       "An index that contains b is wrong, or too large for an int: 10 000 images may have more "
       "than 2^31 elements.",
       "Compute indices in std::size_t, and check each size that b is multiplied by."},
      {"E-slices", "right with all images at once, wrong in slices",
       "A slice after the first begins at a wrong offset. Or the last slice is shorter, and the "
       "code treats it like the others.",
       "Compute by hand where the second slice begins in the input (images before it · "
       "input_image_size()) and in the output (images before it · output_image_size()). Then "
       "compute how many images the last slice has."},
      {"E-maps", "right for some maps, wrong for others",
       "An index that contains m is wrong. Or the code computes groups of maps, and the last group "
       "is incomplete.",
       "Check the index of weights and output, and what the code does for the last group."},
      {"E-blocks", "some rows or columns are wrong",
       "The code works in tiles or vectors, and some of them are wrong.",
       "Test sizes that are not a multiple of the tile: the last tile must stop at the border."},
      {"E-precision", "less precise than single precision",
       "Inputs or sums were rounded to a smaller type (half, TF32, int), or fast-math changed the "
       "arithmetic.",
       "Keep every value in float. Only stages of m4 that the chapter names may use less."},
      {"E-replay", "a later call does not use its own input",
       "The program reuses data of an earlier call: a static buffer, a cached result, memory that "
       "was not cleared.",
       "Compute every call from its own input."},
      {"E-shapes", "right only for published sizes",
       "A size is written into the code, or the code chooses its answer by the size, or a part of "
       "it runs at such sizes only.",
       "Take every size from the shape: any batch, any height and width, any kernel and stride."},
      {"E-race", "the result depends on the order of threads",
       "A barrier is missing between writing and reading shared memory, or two threads write the "
       "same element.",
       "Look at each __shared__ array: call __syncthreads() after it is filled, and before it is "
       "filled again."},
      {"E-unsynchronised", "the result is used before it is ready",
       "The host did not wait for a copy or a kernel in a stream.",
       "Call cudaStreamSynchronize, or wait for an event, before the host reads the result."},
      {"E-still-working", "work goes on after the function has returned",
       "A thread was started and not joined.",
       "Join every thread before you return. The op time ends when the output is complete."},
      {"E-launch", "a kernel cannot be launched",
       "A block has more than 1024 threads, grid.y or grid.z more than 65 535 blocks, or the block "
       "needs more shared memory than the device has.",
       "Print grid and block before this launch, and check each launch with "
       "CONVLAB_CUDA_CHECK_LAUNCH."},
      {"E-no-kernel", "no kernel computes the convolution",
       "The convolution was computed on the CPU.",
       "Launch your kernel in convolve(). The CPU only prepares and copies."},
      {"E-timed-phase-empty", "the convolution is not computed in the timed phase",
       "The op time is the time of convolve(), but here prolog() or epilog() does the work.",
       "Move the kernels into convolve(). prolog() allocates and copies in, epilog() copies out."},
      {"E-converted", "prolog() brings the input into another form",
       "prolog() rounds, unrolls or reorders the input, and the op time leaves this work out.",
       "Do it in convolve(): then the op time tells what your convolution takes."},
      {"E-side-stream", "convolve() does not wait for a stream",
       "Kernels run in a non-blocking stream, and convolve() returns without waiting for it.",
       "Let the default stream wait for an event in that stream, or synchronise the stream in "
       "convolve()."},
      {"E-impossible-time", "the time is shorter than physics allows",
       "The work happens before or after the timed call, or a clock was replaced.",
       "Do the whole convolution in the timed phase. No program can beat the physical bound: bytes "
       "/ bandwidth, operations / peak."},
      {"E-tile-rows", "two lines use different row lengths for one shared array",
       "The line that stores and the line that loads use different row lengths.",
       "Use one name for the row length in every line that uses the array."},
      {"E-index", "an index is computed wrongly",
       "The line that reads or writes this array uses another index than the formula.",
       "Find the line with this array and compare its index with the formula: variables, factors "
       "and parentheses."},
      {"E-tile-transposed", "rows and columns of a matrix are exchanged",
       "A tile is filled [row][column] and read [column][row], or a fragment is declared the other "
       "way round than its array lies.",
       "Compare the order of the two indices where the tile is filled with that where it is read."},
      {"E-terms", "products are missing, or count several times",
       "A loop, a condition or a load treats some products differently from the others.",
       "Look for the loop bound, the condition or the load that concerns these products."},
      {"E-sum-kept", "a sum still holds the value of another output",
       "The sum is not set to zero where an output begins.",
       "Set it to zero for each output, directly before the loops over c, p and q."},
      {"E-wrong", "the output is wrong",
       "An index or a loop's bound is wrong. The grader recognises no specific mistake.",
       "Compute the first wrong element by hand: write down which pixels and weights your loops "
       "multiply. Compare them with the formula of the chapter."},
      {"E-empty-grid", "a kernel is launched with no blocks",
       "The number of blocks is a size divided by the tile. Integer division rounds down: an image "
       "smaller than the tile gives 0 blocks.",
       "Round up: (size + tile - 1) / tile."},
      {"E-rounded-down", "the last, incomplete tile is left out",
       "A number of tiles or of vectors is rounded down. ceil(W_out / TILE) does not help: the "
       "integer division has rounded down before ceil is called.",
       "Round up with integers: (W_out + TILE - 1) / TILE. Let threads beyond the border do "
       "nothing."},
      {"E-cuda-call", "a CUDA call fails",
       "The call does not accept one of its arguments: a pointer to the wrong memory, a wrong "
       "size, or a name that is no device symbol.",
       "Compare each argument of this call with the CUDA documentation."},
      {"E-warp-sync", "lanes of a warp read what other lanes wrote, without a barrier",
       "The lanes of a warp need not run in step. On today's GPUs they often do, so the result is "
       "right by luck. CUDA promises nothing without __syncwarp().",
       "Put __syncwarp() (or __syncthreads()) between the line that writes and the line that "
       "reads."},
      // The network.
      {"E-accuracy", "the network's accuracy is not the expected one",
       "Every convolution was right, so the weights or the data changed during the run.",
       "Run the check again; if it repeats, run: build/bin/grader doctor"},
      {"E-clock", "the measured time contradicts the clock of the grader",
       "The convolution takes far longer than it reports: work is hidden, or a clock was replaced.",
       "Do the work inside the convolution, and leave the clock functions alone."},
  };
  return diagnoses;
}

Finding finding(const std::string& id, const std::string& seen) {
  const auto& all = catalogue();
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const Diagnosis& diagnosis) { return diagnosis.id == id; });
  if (found == all.end()) throw std::out_of_range("no diagnosis " + id);
  return {.id = found->id,
          .title = found->title,
          .seen = printable(seen),
          .cause = found->cause,
          .next = found->next};
}

bool is_about_time(const Finding& finding) {
  return finding.id == "E-timeout" || finding.id == "E-slow";
}

Finding finding(const FaultMessage& message, const std::string& prefix) {
  Finding found = finding(message.id, prefix + message.seen);
  if (!message.cause.empty()) found.cause = message.cause;
  if (!message.next.empty()) found.next = message.next;
  return found;
}

Finding with_warnings(Finding found, const std::string& warnings) {
  static const std::string wrong_numbers =
      " E-wrong E-nan E-images E-maps E-blocks E-borders E-sum-kept E-terms E-precision "
      "E-shapes E-replay E-race E-unwritten-memory E-last-channel E-accuracy ";
  const bool uninitialised = warnings.find("uninitialized") != std::string::npos;
  if (uninitialised && wrong_numbers.find(" " + found.id + " ") != std::string::npos) {
    found = finding("E-uninitialised", found.seen);
    found.title = "a variable has no start value";
    found.cause = "The compiler names a variable that is used before it has a value.";
    found.next = "Give it a value where it is declared, such as float sum = 0.0f;";
  }
  found.compiler = warnings;
  return found;
}

namespace {

std::string last_line(const std::string& printed) {
  std::istringstream lines(printed);
  std::string line;
  std::string last;
  while (std::getline(lines, line)) {
    if (!line.empty()) last = line;
  }
  constexpr std::size_t kLongest = 160;
  return last.substr(0, kLongest);
}

// The C library ends a program whose own arrays are damaged, and says why in its last line.
std::optional<Finding> damaged_heap(const std::string& said, const std::string& where) {
  for (const char* words : {"free(): ", "malloc(): ", "corrupted", "double free", "realloc(): "}) {
    if (said.find(words) == std::string::npos) continue;
    Finding found =
        finding("E-crash", "In " + where + ": the C library ended the program: " + said + ".");
    found.title = "the program damages the memory of its own arrays";
    found.cause =
        "It stores past the end of an array from new or malloc or before its beginning, or it "
        "frees an array twice.";
    found.next =
        "Compare the size of each new and malloc with its largest index. A std::vector with .at(i) "
        "names the wrong index.";
    return found;
  }
  return std::nullopt;
}

// The finding that follows from the signal alone.
Finding explain_signal(int signal, const std::string& where, const FaultRecord& fault) {
  switch (signal) {
    case SIGSYS:
      return finding("E-forbidden",
                     "In " + where + ": the system call was made before the first convolution.");
    case SIGXCPU:
      return finding("E-timeout", "In " + where + ": it used more processor time than it may.");
    case SIGXFSZ:
      return finding("E-flood", "In " + where + ": it wrote a file without end.");
    default:
      return finding(
          "E-crash",
          "In " + where + ": " + ::strsignal(signal) +
              (fault.line > 0 ? ", " + fault.file + ":" + std::to_string(fault.line) : "") + ".");
  }
}

Finding explain_fault(const Failure& failure, const std::string& where) {
  const FaultRecord fault = failure.fault.value_or(FaultRecord{FaultKind::kSignal});
  const FaultMessage message =
      failure.told.id.empty() ? message_of(fault, std::nullopt, {}) : failure.told;
  if (!message.id.empty()) return finding(message, "In " + where + ": ");
  if (fault.kind == FaultKind::kSystemCall) {
    return finding("E-forbidden", "In " + where + ": the system call " +
                                      system_call_name(static_cast<int>(fault.element)) + ".");
  }
  if (auto found = damaged_heap(last_line(failure.printed), where)) return *found;
  return explain_signal(failure.code, where, fault);
}

}  // namespace

Finding explain(const Failure& failure, const std::string& where) {
  switch (failure.kind) {
    case Failure::Kind::kNotImplemented:
      return finding("E-not-implemented", failure.message);
    case Failure::Kind::kException:
    case Failure::Kind::kCrash:
      return explain_fault(failure, where);
    case Failure::Kind::kExit: {
      if (auto found = printed_cuda_error(failure.printed, where)) return *found;
      std::string seen = "In " + where + ": exit code " + std::to_string(failure.code);
      if (const std::string line = last_line(failure.printed); !line.empty()) {
        seen += "; it last printed: " + line;
      }
      return finding("E-exit", seen + ".");
    }
    case Failure::Kind::kTimeout: {
      std::ostringstream seconds;
      seconds << failure.limit_s;
      return finding("E-timeout", "In " + where + ": stopped after " + seconds.str() + " seconds.");
    }
    case Failure::Kind::kFlood:
      return finding("E-flood", "In " + where + ": stopped after " +
                                    std::to_string(ChildProcess::kOutputLimit >> 20) +
                                    " MB; the last line: " + last_line(failure.printed));
    case Failure::Kind::kMemory:
      return finding("E-memory",
                     "In " + where + ": it was stopped before the machine ran out of memory.");
    case Failure::Kind::kNoStart:
      return finding("E-no-program",
                     std::string("It cannot be started: ") + std::strerror(failure.code) + ".");
    case Failure::Kind::kProtocol:
      return finding("E-channel", "In " + where + ".");
    case Failure::Kind::kSettings:
      return finding("E-forbidden",
                     "In " + where + ": it changed the settings that the grader gave it.");
    case Failure::Kind::kWorksOn:
      return finding(
          "E-still-working",
          "In " + where + ": its threads computed while the grader had stopped the program.");
    case Failure::Kind::kRefused:
      return finding("E-memory", "In " + where + ": " + failure.message + ".");
  }
  return finding("E-crash", "In " + where + ".");
}

}  // namespace convlab::grader
