# SPDX-License-Identifier: MIT
#
# Locks with a known mistake, each a copy of the headers in which one text is replaced by another. The simulation has to
# find every one of them within its first 1,000 seeds: one that survives says that the simulation is too weak.
#
#   mutant(<name> <workload> <header> <text> <replacement>)      \n stands for a new line
#
# The text has to stand in the header, so a mutant cannot fade away when the code changes.

set(mutated_sources workloads.cpp) # what includes the locks; all else is compiled once

function(mutant name workload header text replacement)
    set(copy ${CMAKE_CURRENT_BINARY_DIR}/mutants/${name})
    file(READ ${PROJECT_SOURCE_DIR}/include/distlock/${header} code)
    string(FIND "${code}" "${text}" at)
    if(at EQUAL -1)
        message(FATAL_ERROR "mutant ${name}: ${header} has no text: ${text}")
    endif()
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/distlock/${header})
    string(REPLACE "${text}" "${replacement}" code "${code}")
    file(CONFIGURE OUTPUT ${copy}/distlock/${header} CONTENT "${code}" @ONLY)
    # The other headers, by name: an include of "distlock/..." finds the mutated one first.
    add_executable(mutant_${name} ${mutated_sources} $<TARGET_OBJECTS:distlock_simulation_main>)
    target_include_directories(mutant_${name} BEFORE PRIVATE ${copy})
    target_link_libraries(mutant_${name} PRIVATE distlock_simulation_world)
    target_compile_options(mutant_${name} PRIVATE -O1)
    add_test(NAME simulation.finds.${name} COMMAND mutant_${name} --runs 1000 --workload ${workload})
    set_tests_properties(simulation.finds.${name} PROPERTIES PASS_REGULAR_EXPRESSION ${finds} LABELS simulation
                                                                      TIMEOUT 300)
endfunction()

set(exclusive protocol/exclusive.hpp)
set(release_body "if held == ARGV[1] then return redis.call('del', KEYS[1]) end")
set(extend_body "if held == ARGV[1] then return redis.call('pexpire', KEYS[1], ARGV[2]) end")

mutant(delete_without_compare redis_lock ${exclusive} "${release_body}"
       "if held then return redis.call('del', KEYS[1]) end")
mutant(extend_without_compare redis_lock ${exclusive} "${extend_body}"
       "if held then return redis.call('pexpire', KEYS[1], ARGV[2]) end")
mutant(extend_creates redis_lock ${exclusive} "${extend_body}"
       "if held == ARGV[1] or held == false then redis.call('set', KEYS[1], ARGV[1], 'PX', ARGV[2]) return 1 end")
mutant(extend_adds redis_lock ${exclusive} "${extend_body}"
       "if held == ARGV[1] then return redis.call('pexpire', KEYS[1], ARGV[2] + redis.call('pttl', KEYS[1])) end")
mutant(acquire_without_ttl redis_lock ${exclusive} "out.add(\"SET\").add(key).add(token).add(\"NX\").add(\"PX\").add(ttl.count())"
       "(void)ttl, out.add(\"SET\").add(key).add(token).add(\"NX\")")
mutant(acquire_without_nx redis_lock ${exclusive} ".add(\"NX\")" "")
mutant(constant_token redis_lock detail/token.hpp "Clock::random_octets(std::span{octets});" "octets.fill(std::byte{7});")
mutant(token_per_handle redis_lock basic_lock.hpp "detail::make_token<Clock>(token_, options_.owner);"
       "if (token_.empty()) { detail::make_token<Clock>(token_, options_.owner); }")
mutant(no_clean_up redis_lock basic_lock.hpp "void owe_token(time_point now) noexcept { releaser_.owe(token_, now + options_.ttl); }"
       "void owe_token(time_point) noexcept {}")
mutant(validity_from_the_reply redis_lock basic_lock.hpp "hold_.grant(sent, now, options_.ttl);"
       "hold_.grant(now, now, options_.ttl);")
mutant(extension_from_the_reply redis_lock basic_lock.hpp "hold_.extend(sent, ttl);" "hold_.extend(Clock::now(), ttl);")
mutant(unknown_extension_forgotten redis_lock detail/hold.hpp
       "shortest_pending_ = std::min(shortest_pending_, ttl);\n        valid_until_ = std::min(valid_until_, validity(sent, ttl));"
       "(void)sent, (void)ttl;")
mutant(late_grant_kept redis_lock basic_lock.hpp "if (now >= detail::validity(sent, options_.ttl)) {" "if (false) {")
mutant(busy_is_granted redis_lock ${exclusive} "return answer.is_nil() ? verdict::busy"
       "return answer.is_nil() ? verdict::yes")
mutant(no_answer_is_busy redis_lock basic_lock.hpp "decides.garbage(now) : decides.no_answer(now);"
       "decides.garbage(now) : decides.busy(now, false, random());")
mutant(no_clean_up_after_giving_up redis_lock detail/acquire_machine.hpp
       "return clean_up(now, first && !limits_.waits ? after_cleaning::attempt : after_cleaning::finish);"
       "return first ? finish({}) : finish({});")
mutant(release_unconfirmed_is_done redis_lock detail/releaser.hpp "return outcome_;\n    }\n\n    bool posted()"
       "state_ = state::settled;\n        return outcome_ = release_outcome::released;\n    }\n\n    bool posted()")
mutant(no_drift_allowance redis_lock detail/hold.hpp "+ lease_clock::duration{ttl} - drift_allowance(ttl)" "+ lease_clock::duration{ttl}")
mutant(extension_under_way redis_lock detail/hold.hpp
       "return std::exchange(valid_until_, std::min(valid_until_, validity(sent, ttl)));"
       "(void)sent, (void)ttl; return valid_until_;")
mutant(refused_clean_up_is_paid redis_lock detail/releaser.hpp
       "if (matters && !is_definite(compare_and_delete(debts_.back().token, deadline, ec, text))) {"
       "if (matters && (compare_and_delete(debts_.back().token, deadline, ec, text), ec)) {")
mutant(waits_too_long redis_lock detail/acquire_machine.hpp "return pause(now, wanted.length);"
       "return pause(now, wanted.length + std::chrono::seconds{1});")
