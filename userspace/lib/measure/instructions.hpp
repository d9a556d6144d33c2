// SPDX-License-Identifier: GPL-2.0-or-later
// Under QEMU's -icount shift=0 one guest instruction lasts one virtual nanosecond, so that time
// is a count of instructions. Found by measuring, not by asking: two loops of known length, one
// of cheap and one of dear instructions, take the same time per instruction there and nowhere
// else.
#pragma once

namespace tally {

struct InstructionClock {
    double cheap_ns = 0, dear_ns = 0; // per instruction; 0 where we have no loop for the machine
    bool counts() const noexcept;     // time is instructions
};

InstructionClock measure_instruction_clock();

} // namespace tally
