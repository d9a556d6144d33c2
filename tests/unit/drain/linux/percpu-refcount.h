// SPDX-License-Identifier: GPL-2.0-or-later
// percpu_ref as kmod/map/drain.h uses it, for user space. Each access orders what the kernel's
// orders and no more: ThreadSanitizer is to see a barrier that is missing in drain.h.
#pragma once

#include <cstdint>
#include <thread>

#include "shim.h" // of the counting core

// ThreadSanitizer knows no fences: this word is one. Who reads it after another's write is ordered
// behind that, as by a pair of fences round what the two have told each other.
inline std::atomic<int> shim_fence;
inline void smp_mb() { shim_fence.fetch_add(1); }
inline void smp_rmb() { (void)shim_fence.load(); }
inline void smp_acquire__after_ctrl_dep() { (void)shim_fence.load(); }

// Of RCU: with preemption off a thread is a reader, and a grace period waits for each of them.
inline std::atomic<bool> shim_reads[shim_cpus];
inline void preempt_disable() { shim_reads[shim_cpu].store(true); }
inline void preempt_enable() { shim_reads[shim_cpu].store(false); }
inline void shim_synchronize() {
    for (auto& reads : shim_reads)
        while (reads.load())
            std::this_thread::yield();
}

struct percpu_ref {
    static constexpr unsigned ATOMIC = 1, DEAD = 2;
    static constexpr long BIAS = 1L << 62; // what is not in the per-CPU counts yet
    std::atomic<unsigned> flags{0};
    std::atomic<long> count{1 + BIAS};
    PerCpu<unsigned long> cells;
};

inline bool __ref_is_percpu(percpu_ref* ref, unsigned long** count) {
    if (ref->flags.load(std::memory_order_relaxed))
        return false;
    *count = ref->cells.get();
    return true;
}

inline bool percpu_ref_tryget_live(percpu_ref* ref) {
    if (ref->flags.load(std::memory_order_relaxed) & percpu_ref::DEAD)
        return false;
    for (long n = ref->count.load(std::memory_order_relaxed); n;)
        if (ref->count.compare_exchange_weak(n, n + 1)) {
            smp_mb(); // a conditional atomic that succeeds is one
            return true;
        }
    return false;
}

inline void percpu_ref_put(percpu_ref* ref) {
    smp_mb();
    ref->count.fetch_sub(1);
    smp_mb();
}

inline bool percpu_ref_is_zero(percpu_ref* ref) {
    return ref->flags.load(std::memory_order_relaxed) &&
           !ref->count.load(std::memory_order_relaxed);
}

// What the CPUs counted, and back to zero. Between this and the next count of a CPU lies that it
// read from the word with its count's address that it may: a dependency orders the two, which
// ThreadSanitizer does not know.
noinline __attribute__((no_sanitize("thread"))) inline long shim_collect(percpu_ref* ref) {
    unsigned long sum = 0;
    for (int cpu = 0; cpu < shim_cpus; cpu++) {
        unsigned long* cell = per_cpu_ptr(ref->cells.get(), cpu);
        sum += *cell;
        *cell = 0;
    }
    return static_cast<long>(sum);
}

inline void percpu_ref_kill(percpu_ref* ref) {
    ref->flags.store(percpu_ref::ATOMIC | percpu_ref::DEAD);
    shim_synchronize();
    ref->count.fetch_add(shim_collect(ref) - percpu_ref::BIAS, std::memory_order_relaxed);
    percpu_ref_put(ref);
}

inline void percpu_ref_resurrect(percpu_ref* ref) {
    ref->flags.store(percpu_ref::ATOMIC, std::memory_order_relaxed);
    ref->count.fetch_add(1 + percpu_ref::BIAS, std::memory_order_relaxed);
    std::this_thread::yield(); // alive, and still counted in one place
    smp_mb(); // a store with release
    ref->flags.store(0, std::memory_order_relaxed);
}
