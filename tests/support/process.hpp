// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace distlock::test {

/// A program that this process has started: signals go to that process only, and it ends with this object.
/// It also ends with this process, if it was started from the main thread (the kernel ties it to the thread).
class process {
public:
    process() = default;
    /// `argv[0]` is looked up in PATH. Output goes to the file `output`. Throws std::system_error where the
    /// program cannot be run at all.
    process(const std::vector<std::string>& argv, const std::filesystem::path& output,
            const std::map<std::string, std::string>& more_environment = {});
    process(process&& other) noexcept;
    process& operator=(process&& other) noexcept;
    ~process();

    /// 0 when there is none.
    pid_t pid() const noexcept { return pid_; }
    bool is_running();
    void signal(int number) const;
    /// It stands still when this is back.
    void suspend();
    void resume();
    /// Ends it at once, and waits for that.
    void kill9();
    /// Waits for its end, which this is told of as waitpid(2) does; nothing after `limit`.
    std::optional<int> wait(std::chrono::milliseconds limit);

    /// Where `program` is: a path that can be executed, by way of PATH if it has no slash. Empty: nowhere.
    static std::filesystem::path find(const std::string& program);

private:
    friend class child_process;
    explicit process(pid_t forked) noexcept;

    pid_t pid_ = 0;
    pid_t maker_ = 0;
};

} // namespace distlock::test
