// SPDX-License-Identifier: MIT
// Scripts in lockstep-trainer's place: how their command is found, what they are given, what is refused.
#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "tests/agent/agent_process.h"

using namespace lockstep;

namespace {

struct Outcome {
    int code;
    std::string out, errors;
};
Outcome ask(const std::string &command, const std::string &request, const Child::Environment &environment = {},
            const std::string &agent = agentBinary()) {
    Child child({agent, command}, environment);
    child.write(request + "\n");
    child.closeInput();
    Outcome outcome{};
    outcome.out = child.readAll();
    outcome.errors = child.errors();
    outcome.code = child.wait();
    return outcome;
}

std::string requestFor(const std::vector<std::string> &command, bool detach = false,
                       const std::string &device = R"("devices":["0","1"],"oversubscribe":true)") {
    std::string words;
    for (const std::string &word : command)
        words += (words.empty() ? "\"" : ",\"") + word + "\"";
    return R"({"record":{"config":{"method":"ddp","workers":3,"threads":2,)" + device + R"(},"command":[)" + words +
           R"(]},"detach":)" + (detach ? "true" : "false") + "}";
}

void writeProgram(const std::string &path, const std::string &text) {
    std::ofstream(path) << text;
    ::chmod(path.c_str(), 0755);
}

/// A Python that has the modules named, as far as the agent's question goes.
void fakePython(const std::string &path, const std::string &modules) {
    writeProgram(path, "#!/bin/sh\n[ \"$1\" = -c ] || exec /bin/sh \"$@\"\nshift 2; i=100\n"
                       "for name; do case \" " +
                           modules + " \" in *\" $name \"*) ;; *) exit $i;; esac; i=$((i+1)); done\n");
}

/// A source tree with an agent that was built in its folder `build`, a Python that has torch, and a script.
class BuiltTree {
public:
    explicit BuiltTree(const std::string &path) : m_path(path) {
        for (const char *folder : {"/build/bin", "/.cache/peers/bin", "/resources/python"})
            std::filesystem::create_directories(m_path + folder);
        std::filesystem::permissions(m_path, std::filesystem::perms(0755));
        std::filesystem::permissions(m_path + "/build/bin", std::filesystem::perms(0755));
        std::filesystem::copy_file(agentBinary(), agent());
        note("/where/it/was");
        fakePython(python(), "torch");
        std::ofstream(script()) << "true\n";
        fakePython(m_path + "/build/bin/python3", "nothing");
    }
    /// As CMake does: the folder of the build and the source above it, which may have been moved since.
    void note(const std::string &source) const {
        std::ofstream(noted()) << "# made by CMake\nCMAKE_CACHEFILE_DIR:INTERNAL=" << source
                               << "/build\nCMAKE_HOME_DIRECTORY:INTERNAL=" << source << "\n";
        std::filesystem::permissions(noted(), std::filesystem::perms(0644));
    }
    [[nodiscard]] std::string noted() const { return m_path + "/build/CMakeCache.txt"; }
    [[nodiscard]] std::string agent() const { return m_path + "/build/bin/lockstep-agent"; }
    [[nodiscard]] std::string python() const { return m_path + "/.cache/peers/bin/python"; }
    [[nodiscard]] std::string script() const { return m_path + "/resources/python/train.py"; }
    /// `lockstep-agent check` of a script, with no other Python that has torch.
    [[nodiscard]] Outcome check(const std::vector<std::string> &command) const {
        return ask("check", requestFor(command),
                   {{"PATH", m_path + "/build/bin"},
                    {"LOCKSTEP_PYTHON", ""},
                    {"LOCKSTEP_SCRIPTS", ""},
                    {"VIRTUAL_ENV", ""},
                    {"CONDA_PREFIX", ""}},
                   agent());
    }

private:
    std::string m_path;
};

long lineCount(const std::string &text) {
    return std::count(text.begin(), text.end(), '\n');
}

} // namespace

TEST_CASE("a recipe's script gets its fields, its devices and the environment that PyTorch reads") {
    const TestHome home;
    const std::string script = home.path() + "/train.py";
    std::ofstream(script) << "echo \"$@\" on $LOCKSTEP_DEVICE rank $RANK of $WORLD_SIZE omp $OMP_NUM_THREADS port "
                             "${MASTER_PORT:+given} summary ${LOCKSTEP_MASTER_LISTEN_FD:-none}\n";
    fakePython(home.path() + "/python", "torch numpy");
    const Outcome outcome = ask("serve", requestFor({"{python:torch,numpy}", script, "--workers={workers}", "{{}}"}),
                                {{"LOCKSTEP_PYTHON", home.path() + "/python"}});
    CHECK(outcome.code == 0);
    REQUIRE(home.runs().size() == 1);
    const RunFolder folder = runFolder(home.runs()[0]);
    CHECK(contentsOf(folder.console(0)).find("--workers=3 {} on cpu:0 rank 0 of 2 omp 2 port given summary none") !=
          std::string::npos);
    CHECK(contentsOf(folder.console(1)).find("on cpu:1 rank 1 of 2") != std::string::npos);
    const auto record = runRecordFromJson(contentsOf(folder.config()));
    REQUIRE(record);
    CHECK(record->command == std::vector<std::string>{home.path() + "/python", script, "--workers=3", "{}"});
    CHECK(record->name == "train.py");
    CHECK(record->config->workers == 3);
    CHECK(
        contentsOf(folder.log(0)).find("the script runs with " + home.path() + "/python (found by LOCKSTEP_PYTHON)") !=
        std::string::npos);
}

TEST_CASE("a script that can't be is one sentence, exit 2, and leaves nothing, for serve and for check") {
    struct Case {
        std::string what;
        std::vector<std::string> command;
        std::string sentence;
    };
    const TestHome home;
    fakePython(home.path() + "/python", "torch");
    const Child::Environment environment = {{"LOCKSTEP_PYTHON", home.path() + "/python"}};
    for (const Case &c :
         {Case{"no such field", {"{python}", "{wokers}"}, "did you mean {workers}?"},
          Case{"no such script", {"{python}", "/nowhere/train.py"}, "there is no script /nowhere/train.py"},
          Case{"no such program", {"no-such-program-anywhere"}, "no-such-program-anywhere"},
          Case{"no torchvision", {"{python:torch,torchvision}", "x.py"}, "has no torchvision"}})
        for (const char *command : {"serve", "check"}) {
            CAPTURE(c.what);
            CAPTURE(command);
            const Outcome outcome = ask(command, requestFor(c.command), environment);
            CHECK(outcome.code == 2);
            CHECK(outcome.errors.find(c.sentence) != std::string::npos);
            CHECK(lineCount(outcome.errors) == 1);
            CHECK(outcome.out.starts_with("{\"type\":\"error\",\"message\":"));
            CHECK(home.runs().empty());
        }
}

TEST_CASE("without a Python that has torch the sentence says what each lacks and how to name one") {
    const TestHome home;
    const std::string folder = home.path() + "/bin";
    std::filesystem::create_directory(folder);
    fakePython(folder + "/python3", "nothing");
    const Outcome named =
        ask("check", requestFor({"{python}", "-c", "pass"}), {{"LOCKSTEP_PYTHON", "/nowhere/python"}});
    CHECK(named.code == 2);
    CHECK(named.errors.find("LOCKSTEP_PYTHON names '/nowhere/python', which can't be run") != std::string::npos);
    // A module that no Python has: every candidate is asked.
    const Outcome none = ask("check", requestFor({"{python:no_such_module_at_all}", "-c", "pass"}),
                             {{"PATH", folder}, {"LOCKSTEP_PYTHON", ""}});
    CHECK(none.code == 2);
    CHECK(none.errors.find(folder + "/python3 has no no_such_module_at_all") != std::string::npos);
    CHECK(none.errors.find("name one in LOCKSTEP_PYTHON") != std::string::npos);
    CHECK(lineCount(none.errors) == 1);
    // The one that a person's shell would start comes before the one that set-up has put into a source tree.
    fakePython(folder + "/python3", "torch");
    CHECK(ask("serve", requestFor({"{python}", "-c", "pass"}),
              {{"PATH", folder}, {"LOCKSTEP_PYTHON", ""}, {"VIRTUAL_ENV", ""}, {"CONDA_PREFIX", ""}})
              .code == 0);
    REQUIRE(home.runs().size() == 1);
    CHECK(contentsOf(runFolder(home.runs()[0]).log(0)).find(folder + "/python3 (found by PATH)") != std::string::npos);
}

TEST_CASE("the Python and the scripts of a source tree are used by a program that was built there, wherever the tree "
          "is now") {
    const TestHome home;
    const BuiltTree tree(home.path() + "/tree");
    const Outcome found = tree.check({"{python}", "{scripts}/train.py"});
    CAPTURE(found.errors);
    CHECK(found.code == 0);
    CHECK(found.out.find("\"" + tree.python() + "\",\"" + tree.script() + "\"") != std::string::npos);
    std::filesystem::remove(tree.noted()); // as in any folder that programs were copied to
    CHECK(tree.check({"{python}", "-c", "pass"}).code == 2);
    CHECK(tree.check({"/bin/sh", "{scripts}/train.py"}).code == 2);
}

TEST_CASE("a Python or scripts that other users can change are passed over, and the sentence says so") {
    const TestHome home;
    const std::string folder = home.path() + "/tree";
    const BuiltTree tree(folder);
    const auto refused = [&](const std::vector<std::string> &command) {
        const Outcome outcome = tree.check(command);
        CHECK(outcome.code == 2);
        CHECK(lineCount(outcome.errors) == 1);
        return outcome.errors;
    };
    const auto sentence = [](const std::string &path) { return path + " can be changed by other users"; };
    const std::vector<std::string> python = {"{python}", "-c", "pass"}, script = {"/bin/sh", "{scripts}/train.py"};
    for (const char *open : {"/.cache/peers", "/resources/python"})
        std::filesystem::permissions(folder + open, std::filesystem::perms(0777));
    CHECK(refused(python).find(sentence(tree.python())) != std::string::npos);
    CHECK(refused(script).find(sentence(folder + "/resources/python")) != std::string::npos);
    for (const char *own : {"/.cache/peers", "/resources/python"})
        std::filesystem::permissions(folder + own, std::filesystem::perms(0755));
    CHECK(tree.check(python).code == 0);
    CHECK(tree.check(script).code == 0);
    std::filesystem::permissions(tree.noted(), std::filesystem::perms(0666));
    CHECK(tree.check(python).code == 2);
    tree.note(folder);
    const std::string installed = folder + "/build/share/lockstep/python";
    std::filesystem::create_directories(installed);
    std::filesystem::permissions(folder + "/build/share", std::filesystem::perms(0777));
    CHECK(tree.check(script).out.find(tree.script()) != std::string::npos);
    std::filesystem::remove_all(folder + "/build/share");
    if (::geteuid() != 0)
        return; // only root can give files away
    constexpr uid_t stranger = 65534;
    std::filesystem::permissions(folder, std::filesystem::perms(01777));
    for (const char *planted : {"/.cache", "/resources"})
        REQUIRE(::lchown((folder + planted).c_str(), stranger, stranger) == 0);
    CHECK(refused(python).find(sentence(tree.python())) != std::string::npos);
    CHECK(refused(script).find(sentence(folder + "/resources/python")) != std::string::npos);
}

TEST_CASE("asking a Python for modules imports neither them nor anything of the current folder") {
    const TestHome home;
    const std::string folder = home.path() + "/cwd", ran = home.path() + "/ran";
    std::filesystem::create_directories(folder + "/evil/deep");
    std::filesystem::create_directories(folder + "/src/mine");
    const std::string trace = "open('" + ran + "', 'w').close()\nraise SystemExit(9)\n";
    for (const char *name : {"/evil/__init__.py", "/evil/x.py", "/evil/deep/y.py", "/contextlib.py", "/os.py",
                             "/sitecustomize.py", "/importlib.py", "/src/mine/__init__.py", "/src/contextlib.py"})
        std::ofstream(folder + name) << trace;
    const auto check = [&](const std::string &modules, const std::string &path) {
        Child child({"/bin/sh", "-c", "cd \"$0\" && exec \"$1\" check", folder, agentBinary()},
                    {{"LOCKSTEP_PYTHON", "python3"}, {"PYTHONPATH", path}});
        child.write(requestFor({"{python:" + modules + "}", "-c", "pass"}) + "\n");
        child.closeInput();
        (void)child.readAll();
        const std::string errors = child.errors();
        const int code = child.wait();
        CAPTURE(errors);
        CHECK_FALSE(std::filesystem::exists(ran));
        return code == 0 ? std::string() : errors;
    };
    for (const std::string &path : {std::string(), std::string(":/nowhere"), std::string("src:."), folder}) {
        CAPTURE(path);
        for (const char *there :
             {"json", "xml.dom", "os.path", "evil", "evil.x", "evil.deep", "evil.deep.y", "json,evil.x"})
            CHECK(check(there, path) == "");
        CHECK(check("evil.z", path).find("has no evil.z") != std::string::npos);
        CHECK(check("json,evil.deep.z", path).find("has no evil.deep.z") != std::string::npos);
        CHECK(check("mine", path).empty() == (path == "src:.")); // a folder in PYTHONPATH still counts
    }
}

TEST_CASE("check answers each request and starts nothing") {
    const TestHome home;
    const std::string good = requestFor({"/bin/touch", home.path() + "/started"});
    const Outcome outcome = ask("check", good + "\n" + good);
    CHECK(outcome.code == 0);
    CHECK(lineCount(outcome.out) == 2);
    CHECK(outcome.out.starts_with("{\"type\":\"fit\",\"command\":[\"/bin/touch\""));
    CHECK_FALSE(std::filesystem::exists(home.path() + "/started"));
    CHECK(home.runs().empty());
}

TEST_CASE("a script's loss that is no number raises one alert for each rank it happens to") {
    const TestHome home;
    Child child({agentBinary(), "run", "--nproc-per-node", "2", "--", fakeRank()},
                {{"FAKE_RANK", "epochs=2;steps=10"}, {"FAKE_RANK_1", "nan_at=3"}});
    child.closeInput();
    (void)child.readAll();
    CHECK(child.wait() == 0);
    REQUIRE(home.runs().size() == 1);
    const std::vector<AlertFrame> alerts = bodiesOf<AlertFrame>(framesOf(runFolder(home.runs()[0])));
    REQUIRE(alerts.size() == 1);
    CHECK(alerts[0].kind == "non_finite_loss");
    CHECK(alerts[0].severity == "warning");
    CHECK(alerts[0].message == "the loss of rank 1 is NaN since step 3");
    CHECK(alerts[0].step == 3);
}

TEST_CASE("a script that reports frames gets a summary made of them; unknown stays unknown") {
    const TestHome home;
    Child child({agentBinary(), "run", "--nproc-per-node", "2", "--", fakeRank()},
                {{"FAKE_RANK", "epochs=2;steps=10"}});
    child.closeInput();
    (void)child.readAll();
    CHECK(child.wait() == 0);
    REQUIRE(home.runs().size() == 1);
    const RunResult result = resultOf(runFolder(home.runs()[0]));
    REQUIRE(result.summary);
    CHECK(result.summary->epochs.size() == 2);
    CHECK(result.summary->totalTrainingTimeS.value_or(0) > 0);
    CHECK(result.summary->worldSize == 2);
    CHECK_FALSE(result.summary->workers);
    CHECK_FALSE(result.summary->batchSize);
    CHECK(result.summary->method.empty());
    // One that reports nothing has none.
    Child mute({agentBinary(), "run", "--", "/bin/true"});
    CHECK(mute.wait() == 0);
    for (const std::string &run : home.runs())
        if (run != result.run)
            CHECK_FALSE(resultOf(runFolder(run)).summary);
}

TEST_CASE(
    "exit code 2 of a script is a failure as any other: its ranks are started again, and the reason names the rank") {
    const TestHome home;
    Child child({agentBinary(), "run", "--max-restarts", "1", "--", "/bin/sh", "-c", "echo no such data >&2; exit 2"});
    child.closeInput();
    (void)child.readAll();
    CHECK(child.wait() == 2);
    REQUIRE(home.runs().size() == 1);
    const RunFolder folder = runFolder(home.runs()[0]);
    const RunResult result = resultOf(folder);
    CHECK(result.exitCode == exitFailed);
    CHECK_MESSAGE(result.reason.starts_with("rank 0 on "), result.reason);
    CHECK_MESSAGE(result.reason.ends_with(" exited with code 2: no such data"), result.reason);
    const auto alerts = bodiesOf<AlertFrame>(framesOf(folder));
    CHECK(std::ranges::count(alerts, "restart", &AlertFrame::kind) == 1);
}

TEST_CASE("a command that has started the ranks itself is named when it fails, and none of its ranks") {
    const TestHome home;
    Child child({agentBinary(), "run", "--", "/bin/sh", "-c",
                 R"(RANK=0 "$0" & RANK=1 "$0"; wait; echo '  Signal 9 received by PID 7' >&2; echo ==== >&2; exit 1)",
                 fakeRank()},
                {{"FAKE_RANK", "epochs=1;steps=10"}, {"WORLD_SIZE", "2"}});
    child.closeInput();
    (void)child.readAll();
    CHECK(child.wait() == 1);
    REQUIRE(home.runs().size() == 1);
    const RunFolder folder = runFolder(home.runs()[0]);
    const std::string reason = resultOf(folder).reason;
    CHECK_MESSAGE(reason.starts_with("the command on "), reason);
    CHECK_MESSAGE(reason.ends_with(" exited with code 1: Signal 9 received by PID 7"), reason);
    for (const Frame &frame : framesOf(folder))
        if (const auto *alert = std::get_if<AlertFrame>(&frame.body); alert && alert->kind == "rank_failed") {
            CHECK_FALSE(frame.rank);
            CHECK(alert->message == reason);
        }
}

TEST_CASE(
    "neither a warning nor its source line is told as the cause of an end, and a line of stdout only as the last one") {
    struct Case {
        std::string script, end;
    };
    const std::string warning = "echo 'a.py:3: UserWarning: careful' >&2; echo '  total += 1' >&2; ";
    for (const Case &c :
         {Case{warning + "exit 3", " exited with code 3"},
          {"echo 'ValueError: torn' >&2; " + warning + "exit 3", " exited with code 3: ValueError: torn"},
          {"echo 'ValueError: torn' >&2; echo 'a.py:3: UserWarning: careful' >&2; echo 'Go on.' >&2; echo '  x += 1' "
           ">&2; exit 3",
           " exited with code 3: ValueError: torn"},
          {warning + "echo epoch 5; exit 3", " exited with code 3: its last line was epoch 5"}}) {
        CAPTURE(c.script);
        const TestHome home;
        Child child({agentBinary(), "run", "--", "/bin/sh", "-c", c.script});
        child.closeInput();
        (void)child.readAll();
        CHECK(child.wait() == 3);
        REQUIRE(home.runs().size() == 1);
        const std::string reason = resultOf(runFolder(home.runs()[0])).reason;
        CHECK_MESSAGE(reason.ends_with(c.end), reason);
    }
}
