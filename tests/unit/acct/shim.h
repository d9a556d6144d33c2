// SPDX-License-Identifier: GPL-2.0-or-later
// The names of the kernel that the counting core uses, for user space: kmod/acct/platform.h
// includes this. Test clocks and the current CPU are set by hand. Words that several CPUs share
// are accessed atomically, words of one CPU by a plain load and a store, so that an access from the
// wrong CPU loses counts. ThreadSanitizer objects to that, and to what a reader does not mark.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = unsigned long long;

#define __force
#define __percpu
#undef __always_inline
#define __always_inline inline __attribute__((always_inline))
#define ____cacheline_aligned_in_smp __attribute__((aligned(64)))
#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
#define min(a, b) ((a) < (b) ? (a) : (b))
#define noinline __attribute__((noinline))
#define __cold __attribute__((cold))
#define __maybe_unused __attribute__((unused))
#define barrier() __asm__ volatile("" ::: "memory")

#define READ_ONCE(x) __atomic_load_n(&(x), __ATOMIC_RELAXED)
#define WRITE_ONCE(x, v) __atomic_store_n(&(x), v, __ATOMIC_RELAXED)
#define cmpxchg(p, old, new) __sync_val_compare_and_swap(p, old, new)
#define try_cmpxchg(p, old, new)                                                                   \
    __atomic_compare_exchange_n(p, old, new, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)

// ---------------------------------------------------------------- warnings

inline std::atomic<int> shim_warnings;
#define WARN_ON_ONCE(condition) ((condition) ? (void)++shim_warnings : (void)0)

// -------------------------------------------------------------------- time

constexpr u64 NSEC_PER_SEC = 1000000000, NSEC_PER_MSEC = 1000000, HZ = 250;

inline std::atomic<unsigned long> jiffies; // the test's clocks
inline std::atomic<u64> shim_ns;
inline u64 shim_ns_per_look; // how long it takes to look at the clock

inline u64 ktime_get_ns() { return shim_ns += shim_ns_per_look; }
inline u64 jiffies_to_nsecs(unsigned long j) { return j * (NSEC_PER_SEC / HZ); }
inline u64 nsecs_to_jiffies64(u64 ns) { return ns / (NSEC_PER_SEC / HZ); }
inline u64 div_u64(u64 n, u32 by) { return n / by; }
inline u64 tally_jiffies_to_ms(u64 j) { return j * (NSEC_PER_SEC / HZ) / NSEC_PER_MSEC; }
#define time_after(a, b) ((long)((b) - (a)) < 0)

// ------------------------------------------------------ atomics and locks

struct atomic_t {
    int counter;
};
inline int atomic_read(const atomic_t* v) { return READ_ONCE(v->counter); }
inline void atomic_set(atomic_t* v, int n) { WRITE_ONCE(v->counter, n); }
inline int atomic_inc_return(atomic_t* v) { return __sync_add_and_fetch(&v->counter, 1); }
inline int atomic_dec_return(atomic_t* v) { return __sync_sub_and_fetch(&v->counter, 1); }
inline void atomic_inc(atomic_t* v) { atomic_inc_return(v); }
inline void atomic_dec(atomic_t* v) { atomic_dec_return(v); }

struct spinlock_t {
    bool held;
};
inline void spin_lock(spinlock_t* lock) {
    while (__atomic_test_and_set(&lock->held, __ATOMIC_ACQUIRE))
        ;
}
inline void spin_unlock(spinlock_t* lock) { __atomic_clear(&lock->held, __ATOMIC_RELEASE); }
#define spin_lock_irqsave(lock, flags) ((flags) = 0, spin_lock(lock))
#define raw_spinlock_t spinlock_t
#define raw_spin_lock_irqsave spin_lock_irqsave
#define raw_spin_unlock_irqrestore spin_unlock_irqrestore
#define spin_unlock_irqrestore(lock, flags) ((void)(flags), spin_unlock(lock))

// ----------------------------------------------------- CPUs and their cells

constexpr int shim_cpus = 4, nr_node_ids = 2;
constexpr std::size_t shim_stride = 1024; // from a CPU's cells to the next one's

inline thread_local int shim_cpu; // the CPU we are on

inline int smp_processor_id() { return shim_cpu; }
inline int numa_node_id() { return shim_cpu / (shim_cpus / nr_node_ids); }
#define for_each_possible_cpu(cpu) for ((cpu) = 0; (cpu) < shim_cpus; (cpu)++)

template <class T> T* per_cpu_ptr(T* base, int cpu) {
    return reinterpret_cast<T*>(reinterpret_cast<std::uintptr_t>(base) + cpu * shim_stride);
}
template <class T> T* this_cpu_ptr(T* base) { return per_cpu_ptr(base, smp_processor_id()); }

template <class T, class N> void shim_own_add(T* cell, N n) {
    WRITE_ONCE(*cell, *cell + n); // its owner alone writes: nobody can be in between
}
#define this_cpu_add(cell, n) shim_own_add(this_cpu_ptr(&(cell)), n)
#define this_cpu_inc(cell) this_cpu_add(cell, 1)
#define this_cpu_dec(cell) this_cpu_add(cell, -1)

struct local_t {
    long counter;
};
inline long local_read(const local_t* l) { return READ_ONCE(l->counter); }

// A zeroed T for each CPU.
template <class T> class PerCpu {
public:
    T* get() { return reinterpret_cast<T*>(cells_.data()); }

private:
    static_assert(sizeof(T) <= shim_stride);
    std::vector<u64> cells_ = std::vector<u64>(shim_cpus * shim_stride / sizeof(u64));
};

// ------------------------------------------------------------- block layer

enum req_op : u32 {
    REQ_OP_READ = 0,
    REQ_OP_WRITE = 1,
    REQ_OP_FLUSH = 2,
    REQ_OP_DISCARD = 3,
    REQ_OP_WRITE_ZEROES = 9,
};
enum stat_group { STAT_READ, STAT_WRITE, STAT_DISCARD, STAT_FLUSH, NR_STAT_GROUPS };

inline bool op_is_write(req_op op) { return op & 1; }
inline int op_stat_group(req_op op) {
    return op == REQ_OP_DISCARD ? STAT_DISCARD : op_is_write(op) ? STAT_WRITE : STAT_READ;
}

struct disk_stats {
    u64 nsecs[NR_STAT_GROUPS];
    unsigned long sectors[NR_STAT_GROUPS];
    unsigned long ios[NR_STAT_GROUPS];
    unsigned long io_ticks;
    local_t in_flight[2];
};

struct request_queue {
    bool io_stat;
};

struct block_device {
    disk_stats* bd_stats; // per CPU
    unsigned long bd_stamp;
    block_device* whole;
    request_queue* queue;
    block_device* next; // of the same disk
};

inline bool bdev_is_partition(block_device* bdev) { return bdev != bdev->whole; }
inline block_device* bdev_whole(block_device* bdev) { return bdev->whole; }
inline request_queue* bdev_get_queue(block_device* bdev) { return bdev->queue; }
inline bool blk_queue_io_stat(request_queue* q) { return READ_ONCE(q->io_stat); }

#define part_stat_lock() ((void)0)
#define part_stat_unlock() ((void)0)
#define part_stat_add(part, field, n)                                                              \
    do {                                                                                           \
        this_cpu_add((part)->bd_stats->field, n);                                                  \
        if (bdev_is_partition(part))                                                               \
            this_cpu_add(bdev_whole(part)->bd_stats->field, n);                                    \
    } while (0)
#define tally_stat_add(part, field, n) this_cpu_add((part)->bd_stats->field, n)
#define tally_cell_add(part, dir, n) this_cpu_add((part)->bd_stats->in_flight[dir].counter, n)
#define part_stat_local_read_cpu(part, field, cpu)                                                 \
    local_read(&per_cpu_ptr((part)->bd_stats, cpu)->field)

#define rcu_read_lock() ((void)0)
#define rcu_read_unlock() ((void)0)
#define tally_for_each_part(whole, nr, part)                                                       \
    for (nr = 0, part = (whole); part; part = part->next, ++nr)
#define TALLY_NATIVE_ON_WHOLE false

// The kernel's own accounting, as before 6.16: who called it, and with what.
struct shim_native {
    block_device* bdev;
    req_op op;
    unsigned sectors;
    unsigned long start;
};
inline std::vector<shim_native> shim_native_begun, shim_native_ended;

inline unsigned long tally_native_begin(block_device* bdev, req_op op, unsigned sectors) {
    shim_native_begun.push_back({bdev, op, sectors, jiffies});
    tally_cell_add(bdev, op_is_write(op), 1);
    WRITE_ONCE(bdev->bd_stamp, jiffies);
    return jiffies;
}
inline void tally_native_end(block_device* bdev, req_op op, unsigned sectors, unsigned long start) {
    shim_native_ended.push_back({bdev, op, sectors, start});
    tally_cell_add(bdev, op_is_write(op), -1);
}
