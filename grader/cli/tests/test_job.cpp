// `grader job` with programs that stand for Slurm's commands: sbatch starts the script, or leaves
// it in the queue; squeue says what the file `queue` says.
#include <cstdlib>

#include "common/base/run_process.hpp"
#include "common/base/tests/support/catch.hpp"
#include "common/base/tests/support/contains.hpp"
#include "common/base/tests/support/temporary_folder.hpp"
#include "common/base/whole_file.hpp"

using namespace convlab;
using convlab::testing::contains;
namespace fs = std::filesystem;

namespace {

class FakeSlurm {
 public:
  FakeSlurm() {
    fs::create_directories(tools());
    // The last words after the script are its arguments.
    add("sbatch", "echo \"$@\" >>" + file("sbatch.log") +
                      "\nwhile [ \"${1#-}\" != \"$1\" ]; do shift; done\n"
                      "[ -e " +
                      file("refuse") +
                      " ] && { echo 'sbatch: error: no account' >&2; exit 1; }\n"
                      "echo \"$@\" >" +
                      file("script") + "\n[ -e " + file("hold") +
                      " ] || sh \"$@\" </dev/null >/dev/null 2>&1 &\necho 17");
    add("squeue",
        "case \"$*\" in *PENDING*) printf '11 gpu\\n12 gpu\\n13 cpu\\n17 gpu\\n18 gpu\\n' ;; *) [ "
        "! -e " +
            file("down") + " ] && cat " + file("queue") + " ;; esac");
    write_atomically(file("queue"), "");
  }

  [[nodiscard]] std::string file(const std::string& name) const {
    return (folder_.path() / name).string();
  }
  void add(const std::string& name, const std::string& script) const {
    write_atomically(tools() / name, "#!/bin/sh\n" + script + "\n");
    fs::permissions(tools() / name, fs::perms::owner_all);
  }

  FinishedProcess run(std::vector<std::string> words) const {
    words.insert(words.begin(), {CONVLAB_BINARY_DIR "/grader", "job"});
    return run_program(words);
  }

  FinishedProcess run_program(std::vector<std::string> words) const {
    words.insert(words.begin(),
                 {"env", "-u", "SBATCH_GRES", "timeout", "--signal=INT", "--kill-after=30", "6"});
    return run_process(
        {.words = words, .environment = {"PATH=" + tools().string() + ":" + std::getenv("PATH")}});
  }

 private:
  [[nodiscard]] fs::path tools() const { return folder_.path() / "tools"; }
  convlab::testing::TemporaryFolder folder_;
};

}  // namespace

TEST_CASE("grader job: the output and the exit code of the job are those of the command") {
  const FakeSlurm slurm;
  const std::string marker = slurm.file("a b'c");
  const FinishedProcess run =
      slurm.run({"sh", "-c", "echo seen \"$0\"; echo wrong >&2; exit 5", marker});
  CHECK(run.exit_code == 5);
  CHECK(run.output == "seen " + marker + "\nwrong\n");
  CHECK(contains(run.errors, "Submitted as job 17"));
  CHECK(contains(read_text(slurm.file("sbatch.log")), "--gres=gpu:1"));
}

TEST_CASE("grader job: Ctrl-C leaves the job, and the same command finds it and its result") {
  const FakeSlurm slurm;
  write_atomically(slurm.file("hold"), "");
  const std::string start =
      run_process({.words = {"date", "--date=125 minutes", "+%Y-%m-%dT%H:%M:%S"}}).output;
  write_atomically(slurm.file("queue"),
                   "16 RUNNING 2027-02-01T10:00:00 None\n"
                   "17 PENDING " +
                       trimmed_end(start) + " Resources\n");
  const std::vector<std::string> words = {"echo", slurm.file("done")};
  const FinishedProcess left = slurm.run(words);  // timeout sends SIGINT
  CHECK(
      contains(left.errors,
               "waiting for job 17: 2 jobs before it (Resources), expected to start in about 2 h"));
  CHECK(left.errors.find("waiting for job") == left.errors.rfind("waiting for job"));
  CHECK(contains(left.errors, "Job 17 goes on; the same command finds it again"));
  // A controller that starts anew has not lost the job.
  write_atomically(slurm.file("down"), "");
  CHECK(contains(slurm.run(words).errors,
                 "waiting for Slurm, which does not answer: the job goes on"));
  fs::remove(slurm.file("down"));
  // Meanwhile it runs and leaves the queue.
  run_process({.words = {"sh", "-c", "sh $(cat " + slurm.file("script") + ")"}});
  write_atomically(slurm.file("queue"), "");
  const FinishedProcess found = slurm.run(words);
  CHECK(found.exit_code == 0);
  CHECK(contains(found.errors, "This command is job 17 already, which has ended"));
  CHECK(found.output == slurm.file("done") + "\n");
  // The result was fetched: the same command is a new job.
  fs::remove(slurm.file("hold"));
  CHECK(contains(slurm.run(words).errors, "Submitted as job 17"));
}

TEST_CASE("grader job: what Slurm refuses is one sentence") {
  const FakeSlurm slurm;
  write_atomically(slurm.file("refuse"), "");
  const FinishedProcess run = slurm.run({"true"});
  CHECK(run.exit_code == 3);
  CHECK(contains(run.errors, "sbatch refuses: sbatch: error: no account"));
}

TEST_CASE("grader job: on a GPU that another program uses the command waits") {
  const FakeSlurm slurm;
  slurm.add("nvidia-smi", "cd " + fs::path(slurm.file("x")).parent_path().string() +
                              "\n[ -e looked ] && echo '0, 40, Not Active, Not Active' && exit\n"
                              "touch looked\necho '97, 70, Not Active, Not Active'");
  const FinishedProcess run = slurm.run({"echo", "runs"});
  CHECK(run.exit_code == 0);
  CHECK(run.output == "waiting until the GPU is idle and cool: 97 % busy, 70 °C\nruns\n");
}

TEST_CASE("grader job: --launcher slurm makes jobs of check, profile, sweep and m1") {
  const FakeSlurm slurm;
  write_atomically(slurm.file("refuse"), "");
  const std::string bin = CONVLAB_BINARY_DIR;
  const auto submitted = [&](const std::vector<std::string>& words) {
    slurm.run_program(words);
    return read_text(slurm.file("sbatch.log"));
  };
  // Without the option, or the job would submit a job.
  CHECK(contains(submitted({bin + "/grader", "check", "m4", "--launcher", "slurm", "--no-speed"}),
                 "/grader check m4 --no-speed"));
  CHECK(contains(submitted({bin + "/grader", "profile", "m4", "--launcher=slurm", "--stage", "s"}),
                 "/grader-views profile m4 --stage s"));
  CHECK(contains(submitted({bin + "/grader", "sweep", "x", "--launcher", "slurm"}),
                 "/grader-views sweep x"));
  CHECK(contains(submitted({bin + "/m1", "100", "--launcher", "slurm", "--all"}), "/m1 100 --all"));
  CHECK(contains(read_text(slurm.file("sbatch.log")), "--gres=gpu:1"));
}
