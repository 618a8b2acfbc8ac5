// SPDX-License-Identifier: MIT
#pragma once

#include "support/admin.hpp"
#include "support/eventually.hpp"
#include "support/redis_server.hpp"

#include "distlock/clock.hpp"
#include "distlock/connection.hpp"
#include "distlock/reply.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace distlock::test {

/// One command over the connection under test.
template <connection Conn>
reply run(Conn& conn, std::initializer_list<std::string_view> argv, std::error_code& ec,
          std::chrono::milliseconds within = std::chrono::seconds{20}) {
    return conn.execute(std::span{argv.begin(), argv.size()}, lease_clock::now() + within, ec);
}

/// The same where no trouble is expected.
template <connection Conn>
reply run(Conn& conn, std::initializer_list<std::string_view> argv) {
    std::error_code ec;
    auto answer = run(conn, argv, ec);
    EXPECT_FALSE(ec) << ec.message() << " to " << *argv.begin();
    return answer;
}

/// The suite's server, up from its first test to its last, and an admin's view of it.
class server_test : public ::testing::Test {
public:
    static void SetUpTestSuite() { shared_ = std::make_unique<redis_server>(); }
    static void TearDownTestSuite() { shared_.reset(); }

protected:
    static redis_server& server() { return *shared_; }

    reply ask(const std::vector<std::string>& argv) { return admin_.command(argv); }
    std::int64_t number(const std::vector<std::string>& argv) {
        const auto answer = ask(argv);
        EXPECT_TRUE(answer.is_integer()) << argv.front() << ": " << answer.text();
        return answer.as_integer();
    }
    std::string text(const std::vector<std::string>& argv) { return ask(argv).text(); }
    std::int64_t info(std::string_view field) { return std::stoll(admin_.info(field)); }
    /// How often a command ran.
    std::uint64_t commands(const std::string& name) { return admin_.calls(name); }
    /// Stands still for certain: the signal alone may need a moment.
    static void suspend_server() {
        shared_->suspend();
        ASSERT_TRUE(eventually([] {
            std::ifstream in{"/proc/" + std::to_string(shared_->pid()) + "/stat"};
            const std::string stat{std::istreambuf_iterator<char>{in}, {}};
            return stat.find(") T ") != std::string::npos;
        }));
    }
    /// An unlock() that nobody waited for may still be on its way.
    void expect_no_keys() {
        EXPECT_TRUE(eventually([this] { return admin_.keys().empty(); }, std::chrono::seconds{3}))
            << "left on the server: " << admin_.keys().front();
    }

private:
    inline static std::unique_ptr<redis_server> shared_;
    admin admin_ = shared_->connect_admin();
};

} // namespace distlock::test
