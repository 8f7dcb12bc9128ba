#include "grader/findings/catalogue.hpp"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <set>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "common/text/printable.hpp"
#include "grader/findings/course_findings.hpp"
#include "grader/sandbox/seccomp_filter.hpp"

namespace convlab::grader {

const std::vector<Diagnosis>& catalogue() {
  static const std::vector<Diagnosis> diagnoses = with_course_diagnoses({
      // No output.
      {"E-not-implemented", "nothing is written yet, or that line is still there",
       "This is where everybody starts. The line ends the program, and nothing after it runs.",
       "Not begun: read the chapter beside it, and write your code in the place of the line; "
       "build/bin/grader hint and the milestone's name give one hint at a time. Written already: "
       "delete the line."},
      {"E-no-stage", "the file registers no stage",
       "The object `stage` at the end of the exercise is gone, a static constructor ended early, "
       "or a file for the course interface does not define its functions.",
       "Restore the last lines of the exercise; for the course interface, compare names and "
       "parameters with the headers in common/given_file/course_interface."},
      {"E-same-stage", "stages cannot be told apart, or are too many",
       "Each stage counts once, under its own id.",
       "Give every stage another id, in the object that registers it."},
      {"E-library", "the file calls a library that does the exercise",
       "The exercise is to write the convolution yourself.",
       "Write the kernel, then compare it with the library (reference/peers)."},
      {"E-forbidden-call", "the file calls a function that no convolution needs",
       "It reaches for processes, sockets, other programs' memory or the grader's own functions.",
       "Remove the call; mathematics, memory, threads, printing and the CUDA runtime are allowed."},
      {"E-replaces", "the file replaces a function that is not its own",
       "A clock, an allocator or a CUDA function of its own would change what is measured. This is "
       "no accident.",
       "Remove the definition. The grader keeps it out of reach, so it has no effect."},
      {"E-no-program", "there is no program to check",
       "The milestone was not built, or building it failed.",
       "Build it, for example: cmake --build --preset lab --target m1"},
      {"E-build", "it does not compile", "The compiler does not understand the file.",
       "Fix the first error, because later ones often follow from it; then check again."},
      {"E-exception", "the program threw an exception",
       "A container was used with an index that it does not have, or something it needs is "
       "missing.",
       "Read the message of the exception: it names the index or the call. In gdb, catch throw "
       "stops "
       "where it is thrown."},
      {"E-memory", "the program ran out of memory",
       "An array grows with the batch: an unrolled input of 10 000 images takes gigabytes.",
       "Work out the array's size in bytes at batch 10 000, and process the images in portions."},
      {"E-outside", "the program touches memory outside its arrays",
       "An index lies past the end of the array, or before its beginning: a loop's bound is one "
       "too large, or it is the size of another array.",
       "Print the indices of that line just before it, and compare each loop's bound with the "
       "sizes "
       "in the chapter's table."},
      {"E-grid-axes", "the axes of the grid are exchanged",
       "The launch counts images in one dimension of the grid and maps in another; the kernel "
       "reads "
       "them the other way round.",
       "Let launch and kernel agree: for example grid.y and blockIdx.y for the map, grid.z and "
       "blockIdx.z for the image."},
      {"E-bytes", "a number of elements stands where bytes are meant",
       "cudaMalloc and cudaMemcpy count bytes; a float has 4.",
       "Multiply the number of elements by sizeof(float)."},
      {"E-host-pointer", "a kernel gets a pointer to memory of the host",
       "A kernel sees device memory only. The launch names the host's array instead of its copy on "
       "the device.",
       "Pass the pointer that cudaMalloc has set; names such as device_input_ and host_output_ "
       "help "
       "to keep them apart."},
      {"E-barrier", "threads of a block do not meet in one barrier",
       "A __syncthreads() stands inside an if, a loop of different lengths, or behind a return "
       "that "
       "only some threads take.",
       "Let every thread of the block reach every barrier: guard only the loads and the stores, "
       "not "
       "the barrier."},
      {"E-warp", "a call that needs the whole warp is not made by all of it",
       "Shuffles and matrix fragments work for 32 threads at once. The block has fewer, or the "
       "call "
       "stands inside an if that only some lanes take.",
       "Launch whole warps (a multiple of 32 threads), and move the condition behind the call."},
      {"E-misaligned", "a vector access at a crooked address",
       "A float4 must lie at a multiple of 16 bytes, a float2 or half2 at a multiple of its size; "
       "rows of odd width do not keep that.",
       "Check that offset and row length are multiples of the vector's elements, or load single "
       "elements."},
      {"E-copy", "a copy or a free does not fit its pointers",
       "The order is cudaMemcpy(to, from, bytes, direction). Target and source are exchanged, the "
       "direction is the other one, or the size is larger than the array.",
       "Compare the call in that line with this order, then its size with the allocation."},
      {"E-arithmetic", "a whole number is divided by zero, or a kernel stops",
       "An integer division by zero, a failed assert() or a trap.",
       "Look at the divisor, or at the condition, in that line."},
      {"E-unsupported", "the emulated device cannot do this",
       "The call may be right on a GPU; docs/emulation.md lists what is emulated.",
       "Check this stage on a machine with a GPU, or use another call."},
      {"E-not-copied-back", "nothing is copied back to the host",
       "The kernel's result stays in device memory.",
       "Is there a cudaMemcpy(host_output_, …, cudaMemcpyDeviceToHost) in epilog?"},
      {"E-unwritten-memory", "the result is computed from memory that nobody wrote",
       "Fresh device memory and shared memory hold no zeros. A part of an array or of a tile is "
       "read "
       "before anything was stored there.",
       "Find the line that should fill the element named above, and check its bounds."},
      {"E-leak", "device memory is not given back",
       "Every run of the convolution leaves memory allocated; the device is full after some "
       "thousand.",
       "Call cudaFree in epilog for every cudaMalloc in prolog."},
      {"E-writes-input", "the program writes into its input or weights",
       "These arrays are read-only; only the output may be written.",
       "Look for assignments to input[…] or weights[…], and for casts that take const away."},
      {"E-null", "the program follows a null pointer",
       "A pointer was never set, or an allocation failed unnoticed.",
       "Look where each pointer of that line gets its value."},
      {"E-device-pointer", "the host uses a device pointer",
       "A pointer from cudaMalloc is used outside of a kernel: an element is read or written, or "
       "it is given to free().",
       "Copy with cudaMemcpy and use the copy; free it with cudaFree."},
      {"E-stack", "the stack overflows",
       "A large array is a local variable, or a function calls itself without end.",
       "Put large arrays into a std::vector."},
      {"E-crash", "the program crashes",
       "Memory was damaged, or the program was ended by the system.",
       "Undo your last change, check again, and take it in smaller steps; gdb --args build/bin/m1 "
       "2 "
       "shows the place."},
      {"E-forbidden", "the program asks the system for what no convolution needs",
       "It starts processes, opens connections, reaches for other programs or touches files "
       "outside its folder.",
       "Remove the call; threads, memory and files in the current folder are yours to use."},
      {"E-exit", "the program ended before it gave an answer",
       "exit() or _exit() was called. A convolution returns; what the program prints is not a "
       "result.",
       "Remove the call."},
      {"E-timeout", "the program does not come back",
       "A loop has no end (its counter is not increased, or overflows), or the work grows much "
       "faster than the image.",
       "Look at the condition and the step of every loop; gdb -p PID shows where it is."},
      {"E-flood", "the program prints without end", "There is a print statement inside the loops.",
       "Remove it, or print for one element only."},
      {"E-channel", "the program's answer makes no sense",
       "Something wrote to a file descriptor that is not its own.",
       "Write to standard output or to files that you opened, nowhere else."},
      // Wrong output.
      {"E-never-written", "the output is never written",
       "The function returns before it stores anything, or stores into another array.",
       "Store each sum: output[…] = sum;"},
      {"E-partly-written", "a part of the output is never written",
       "A loop ends too early, or two elements are stored at the same place.",
       "Look at the bounds of the loops over the outputs and at the index of output[…]."},
      {"E-uninitialised", "sums are added to what the output held before",
       "The output is not zero when the function is called; += needs a start.",
       "Sum up in a local variable that starts at 0.0f and store it once at the end."},
      {"E-nan", "the output holds NaN or infinity",
       "A variable is used before it has a value, or a read goes outside the arrays.",
       "Look at what the sum starts from: float sum = 0.0f; then at the indices of the line that "
       "adds."},
      {"E-writes-outside", "the program writes outside its output",
       "An index of output[…] is negative, or too large: a bound of height instead of "
       "out_height(), or of width instead of out_width().",
       "Print the smallest and the largest index that you store to, and compare them with the "
       "size of the output."},
      {"E-transposed-weights", "rows and columns of the filter are exchanged",
       "The weights' index is …·K + q for row p and column q; here the two are exchanged.",
       "Let p go with the row of the image and of the filter, q with the column of both."},
      {"E-flipped-weights", "the filter is turned round",
       "Signal processing turns a filter before it slides it; neural networks do not.",
       "Use weight (p, q) with the pixel (h·S + p, w·S + q)."},
      {"E-weights-order", "channels and maps of the weights are exchanged",
       "Weights are stored as out_channels × in_channels × K × K: the map comes first.",
       "The index is ((m·C + c)·K + p)·K + q."},
      {"E-first-map", "every map is computed with the filter of the first",
       "m is missing from the index of the weights.", "The index is ((m·C + c)·K + p)·K + q."},
      {"E-first-channel", "only the first channel is summed up",
       "c is missing from an index, or the loop over the channels runs once.",
       "Sum over c = 0 … C − 1, and let c appear in the index of input and weights."},
      {"E-last-channel", "only the last channel is summed up",
       "The sum is set to zero inside the loop over the channels.",
       "Set it to zero before the loops over c, p and q; all three add to the same sum."},
      {"E-last-tap", "only the last product is kept", "The sum is assigned, not added to.",
       "Write sum += input[…] * weights[…], with += and not =."},
      {"E-stored-early", "the sum is stored before the last product is added",
       "The store stands inside the loops, before the line that adds.",
       "Store once, after the loops over c, p and q."},
      {"E-scaled", "every sum is multiplied by the same number",
       "A convolution only adds up products. An average divides them, and a factor stands before "
       "the sum or the weights.",
       "Store the sum as it is, without a division or a factor."},
      {"E-filter-edge", "a row or a column of the filter is left out",
       "The loop over p or q ends one too early, or begins at 1.",
       "Let p and q run from 0 to K − 1: for (p = 0; p < K; ++p)."},
      {"E-padding", "the window is centred on the output, as with padding",
       "This convolution has no padding: the window of output (h, w) begins at (h·S, w·S).",
       "Remove the K / 2 from the index of the input."},
      {"E-rows-columns", "rows and columns of the image are exchanged",
       "The index of the input is (…·H + row)·W + column; here column and row have changed places.",
       "Let h and p make the row, w and q the column."},
      {"E-output-order", "every sum is right, and stored at another one's place",
       "Two indices of the output are exchanged: b and m, or h and w.",
       "The index of the output is ((b·M + m)·H_out + h)·W_out + w."},
      {"E-activation", "negative sums are stored as 0",
       "The activation (ReLU) is a layer of its own, which comes after the convolution.",
       "Store the sum as it is."},
      {"E-first-image", "every image gives the output of the first",
       "b is missing from the index of the input.",
       "The index of the input is ((b·C + c)·H + row)·W + column."},
      {"E-stride", "the stride is ignored",
       "The window moves by `stride` pixels from one output to the next, not by one.",
       "Read the input at row h·stride + p and column w·stride + q."},
      {"E-height-width", "height and width are exchanged",
       "Square images hide this. A row of the input has `width` elements.",
       "Multiply the row by width, never by height: (…·H + row)·W + column."},
      {"E-borders", "wrong at the borders only",
       "The loops over the outputs, or over the filter, end one too early or too late there.",
       "The outputs number out_height() × out_width(); the last window ends at the last pixel."},
      {"E-images", "right for the first images, wrong for later ones",
       "An index that contains b is wrong, or too large for an int: 10 000 images soon have 2^31 "
       "elements.",
       "Compute indices in std::size_t, and check the sizes that b is multiplied with."},
      {"E-slices", "right in one go, wrong in slices",
       "A slice after the first begins at a wrong offset, or the last slice, which may be shorter, "
       "is taken for as long as the others.",
       "Work out by hand, for the second slice, where its images begin in the input (images before "
       "it · input_image_size()) and in the output (· output_image_size()); then how many images "
       "the last slice has."},
      {"E-maps", "right for some maps, wrong for others",
       "An index that contains m is wrong, or the code works on blocks of maps that do not divide "
       "their number.",
       "Check the index of weights and output, and what happens to the last, incomplete block."},
      {"E-blocks", "some rows or columns are wrong",
       "The code works in tiles or vectors, and the last, incomplete one is wrong.",
       "Look at the sizes that are no multiple of the tile: the last tile must stop at the "
       "border."},
      {"E-precision", "less precise than single precision",
       "Inputs or sums went through a smaller type (half, TF32, an int), or fast-math changed the "
       "arithmetic.",
       "Keep every value in float. A stage that means to use less declares its precision."},
      {"E-replay", "a later call does not follow its input",
       "Something of an earlier call is reused: a static buffer, a cached result, memory that was "
       "not cleared.",
       "Compute every call from its own input."},
      {"E-shapes", "right only for published sizes",
       "A size is written into the code, or the answer is chosen by the size.",
       "Take every size from the shape: any batch, any height and width, any kernel and stride."},
      {"E-race", "the result depends on the order of threads",
       "A barrier is missing between writing and reading shared memory, or two threads write the "
       "same place.",
       "Look at each __shared__ array: __syncthreads() after it is filled and before it is filled "
       "again."},
      {"E-unsynchronised", "the result is used before it is ready",
       "The host did not wait for a copy or a kernel in a stream.",
       "Call cudaStreamSynchronize, or wait for an event, before the host reads."},
      {"E-still-working", "work goes on after the function has returned",
       "A thread was started and not joined.",
       "Join every thread before you return; the op time ends when the output is complete."},
      {"E-launch", "a kernel cannot be launched",
       "A block has more than 1024 threads, grid.y or grid.z more than 65 535 blocks, or shared "
       "memory is larger than there is.",
       "Print grid and block where it fails, and check each launch with "
       "CONVLAB_CUDA_CHECK_LAUNCH."},
      {"E-no-kernel", "no kernel computes the convolution",
       "The convolution was computed on the CPU.",
       "Launch your kernel in convolve(); the CPU only prepares and copies."},
      {"E-timed-phase-empty", "the convolution is not computed in the timed phase",
       "Op time is that of convolve(); here prolog() or epilog() did the work.",
       "Move the kernels into convolve(). prolog() allocates and copies in, epilog() copies out."},
      {"E-side-stream", "a stream is not joined",
       "Kernels run in a non-blocking stream, and convolve() returns without waiting for it.",
       "Let the default stream wait for an event in that stream, or synchronise the stream in "
       "convolve()."},
      {"E-impossible-time", "the time is shorter than physics allows",
       "The work happens before or after the timed call, or a clock was replaced.",
       "Do the whole convolution in the timed phase; the floor is bytes over bandwidth and "
       "operations over peak."},
      {"E-tile-rows", "an array in shared memory has rows of two lengths",
       "A line that stores and a line that loads count different rows.",
       "Use one name for the length of a row in every line that touches the array."},
      {"E-fragment", "a fragment reads its array in another order",
       "A fragment is declared col_major, and the array holds the elements of a row side by side, "
       "or the leading dimension is not the distance of two rows.",
       "row_major fits an array [row][column]; col_major fits one that is stored column by "
       "column."},
      {"E-wrong", "the output is wrong",
       "An index or a loop's bound is wrong; nothing more specific fits.",
       "Compute the first wrong element by hand: write down which pixels and weights your loops "
       "multiply for it, and compare them with the formula of the chapter."},
      // The network.
      {"E-accuracy", "the network's accuracy is not the expected one",
       "Every convolution was right, so the weights or the data changed during the run.",
       "Run the check again; if it repeats, run: build/bin/grader doctor"},
      {"E-clock", "the measured time contradicts the clock of the grader",
       "The convolution takes far longer than it reports: work is hidden, or a clock was replaced.",
       "Do the work inside the convolution, and leave the clock functions alone."},
  });
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

Finding finding(const FaultWords& words, const std::string& prefix) {
  Finding found = finding(words.id, prefix + words.seen);
  if (!words.cause.empty()) found.cause = words.cause;
  if (!words.next.empty()) found.next = words.next;
  return found;
}

Finding with_warnings(Finding found, const std::string& warnings) {
  static const std::set<std::string> wrong_numbers = {
      "E-wrong",     "E-nan",    "E-images", "E-maps", "E-blocks",           "E-borders",
      "E-precision", "E-shapes", "E-replay", "E-race", "E-unwritten-memory", "E-last-channel",
      "E-accuracy"};
  const bool uninitialised = warnings.find("uninitialized") != std::string::npos;
  if (uninitialised && wrong_numbers.count(found.id) == 1) {
    found = finding("E-uninitialised", found.seen);
    found.title = "a variable has no start value";
    found.cause = "The compiler names a variable that is used before it has a value.";
    found.next = "Give it one where it is declared, such as float sum = 0.0f;";
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
    Finding found = finding("E-crash", "In " + where + ": the C library ended it: " + said + ".");
    found.title = "the program damages the memory of its own arrays";
    found.cause =
        "It stores past the end of an array from new or malloc, or before its beginning, or frees "
        "one twice.";
    found.next =
        "Compare the size of each new and malloc with the largest index into it; a std::vector "
        "with .at(i) names the index.";
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
      return finding("E-timeout", "In " + where + ": it used up its hours of processor time.");
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
  if (fault.kind == FaultKind::kWarpSync) return warp_sync_finding(fault, where);
  const FaultWords words =
      failure.words.id.empty() ? words_of(fault, std::nullopt, {}) : failure.words;
  if (!words.id.empty()) return finding(words, "In " + where + ": ");
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
      return finding("E-memory", "In " + where + ": it was stopped before the machine ran out.");
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
          "In " + where + ": threads of it computed while the program had to stand still.");
    case Failure::Kind::kRefused:
      return finding("E-memory", "In " + where + ": " + failure.message + ".");
  }
  return finding("E-crash", "In " + where + ".");
}

}  // namespace convlab::grader
