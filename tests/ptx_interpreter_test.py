"""The interpreter of PTX by itself, on instructions and small kernels whose results follow from the PTX manual.

Needs no compiler. A wrong kernel must be a fault that says what is wrong, because tests of kernels trust it.
"""
import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "ptx"))

import exact  # noqa: E402
import floats  # noqa: E402
import mutants  # noqa: E402
from machine import Host, launch  # noqa: E402
from memory import Fault  # noqa: E402
from parse import Unknown, kernels_of  # noqa: E402
from translate import Program  # noqa: E402

ONE, HALF, NAN = 0x3f800000, 0x3f000000, 0x7fffffff

# Registers 1 to 3 of every kind hold the three arguments; the answer is in register 0.
FRAME = """
.version 9.0
.visible .entry tried(.param .u64 to, .param .u64 a, .param .u64 b, .param .u64 c)
{{
  .reg .pred %p<9>; .reg .b16 %rs<9>; .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .f32 %f<9>;
  ld.param.u64 %rd8, [to]; ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b]; ld.param.u64 %rd3, [c];
  cvt.u32.u64 %r1, %rd1; cvt.u32.u64 %r2, %rd2; cvt.u32.u64 %r3, %rd3;
  cvt.u16.u32 %rs1, %r1; cvt.u16.u32 %rs2, %r2; mov.b32 %f1, %r1; mov.b32 %f2, %r2; mov.b32 %f3, %r3;
  setp.ne.s32 %p1, %r1, 0; setp.ne.s32 %p2, %r2, 0;
  {text}
  st.global.{kind} [%rd8], {answer};
  ret;
}}
"""


def program_of(text):
    return Program(kernels_of(text, lambda name: True)[0], Fault)


def answer_of(text, numbers, answer="%r0"):
    kind, size = {"%r0": ("u32", 4), "%rd0": ("u64", 8), "%rs0": ("u16", 2), "%f0": ("f32", 4)}[answer]
    host = Host()
    place, buffer = host.room("to", size)
    launch(program_of(FRAME.format(text=text, kind=kind, answer=answer)), host, 1, 1, [place, *numbers, 0, 0, 0][:4])
    return int.from_bytes(buffer.bytes, "little")


WHOLE = [  # text, arguments, answer
    ("add.s32 %r0, %r1, %r2;", (0xffffffff, 2), 1),
    ("sub.s32 %r0, %r1, %r2;", (1, 2), 0xffffffff),
    ("mul.lo.s32 %r0, %r1, %r2;", (0xffffffff, 3), 0xfffffffd),
    ("mul.hi.u32 %r0, %r1, %r2;", (0x80000000, 6), 3),
    ("mul.hi.s32 %r0, %r1, %r2;", (0xffffffff, 3), 0xffffffff),
    ("mad.lo.s32 %r0, %r1, %r2, %r3;", (3, 5, 7), 22),
    ("div.s32 %r0, %r1, %r2;", (0xfffffff9, 2), 0xfffffffd),  # -7 / 2 is -3
    ("rem.s32 %r0, %r1, %r2;", (0xfffffff9, 2), 0xffffffff),
    ("div.u32 %r0, %r1, %r2;", (0xfffffff9, 2), 0x7ffffffc),
    ("min.s32 %r0, %r1, %r2;", (0xffffffff, 1), 0xffffffff),
    ("min.u32 %r0, %r1, %r2;", (0xffffffff, 1), 1),
    ("abs.s32 %r0, %r1;", (0xfffffffb,), 5),
    ("neg.s32 %r0, %r1;", (5,), 0xfffffffb),
    ("not.b32 %r0, %r1;", (5,), 0xfffffffa),
    ("shl.b32 %r0, %r1, %r2;", (1, 32), 0),
    ("shr.u32 %r0, %r1, %r2;", (0x80000000, 40), 0),
    ("shr.s32 %r0, %r1, %r2;", (0x80000000, 40), 0xffffffff),
    ("shr.s32 %r0, %r1, 4;", (0x80000000,), 0xf8000000),
    ("shf.l.wrap.b32 %r0, %r1, %r2, %r3;", (0x80000001, 2, 33), 5),
    ("bfi.b32 %r0, %r1, %r2, 8, 4;", (0xff, 0x12345678), 0x12345f78),
    ("bfe.u32 %r0, %r1, 8, 4;", (0x12345678,), 6),
    ("bfe.s32 %r0, %r1, 4, 4;", (0x80,), 0xfffffff8),
    ("prmt.b32 %r0, %r1, %r2, 0x5410;", (0x33221100, 0x77665544), 0x55441100),
    ("prmt.b32 %r0, %r1, %r2, 0xb;", (0x80221100, 0), 0xff),  # the sign of byte 3 in the lowest byte; 0 above
    ("lop3.b32 %r0, %r1, %r2, %r3, 0x96;", (0xc, 0xa, 0x9), 0xf),  # exclusive or of three
    ("bmsk.clamp.b32 %r0, %r1, %r2;", (4, 40), 0xfffffff0),
    ("bmsk.wrap.b32 %r0, %r1, %r2;", (36, 3), 0x70),
    ("popc.b32 %r0, %r1;", (0xf1,), 5),
    ("clz.b32 %r0, %r1;", (0xf1,), 24),
    ("brev.b32 %r0, %r1;", (3,), 0xc0000000),
    ("bfind.u32 %r0, %r1;", (0x90,), 7),
    ("cvt.s32.s16 %r0, %rs1;", (0x8001,), 0xffff8001),
    ("cvt.u32.u8 %r0, %r1;", (0x1ff,), 0xff),
    ("mov.b32 %r0, {%rs2, %rs1};", (0x12345, 0x6789), 0x23456789),
    ("mov.b32 {_, %rs3}, %r1; cvt.u32.u16 %r0, %rs3;", (0x12345678,), 0x1234),
    ("selp.b32 %r0, %r1, %r2, %p1;", (0, 9), 9),
    ("selp.b32 %r0, %r1, %r4, %p1;", (7,), 7),
    ("setp.lt.u32 %p3, %r1, -2; selp.u32 %r0, 1, 0, %p3;", (7,), 1),
    ("setp.lt.s32 %p3, %r1, -2; selp.u32 %r0, 1, 0, %p3;", (7,), 0),
    ("setp.eq.and.s32 %p3|%p4, %r1, %r2, !%p2; selp.u32 %r0, 1, 0, %p4;", (1, 0), 1),
    ("@!%p2 bra there; mov.u32 %r0, 1; bra out; there: mov.u32 %r0, 2; out:", (0, 0), 2),
    ("{ .reg .b32 %r0; mov.u32 %r0, 5; } mov.u32 %r0, 6;", (), 6),
    ("{ .reg .pred q; setp.eq.s32 q, %r1, 3; @q mov.u32 %r0, 5; @!q mov.u32 %r0, 6; }", (3,), 5),
]
FLOATING = [
    ("add.f32 %f0, %f1, %f2;", (0x4b800000, ONE), 0x4b800000),  # 2^24 + 1 is a tie
    ("add.f32 %f0, %f1, %f2;", (0x4b800001, ONE), 0x4b800002),
    ("add.f32 %f0, %f1, %f2;", (0x80000000, 0x80000000), 0x80000000),
    ("add.f32 %f0, %f1, %f2;", (ONE, 0xbf800000), 0),
    ("add.f32 %f0, %f1, %f2;", (0x7f7fffff, 0x7f7fffff), 0x7f800000),
    ("add.f32 %f0, %f1, %f2;", (0x7f800000, 0xff800000), NAN),
    ("mul.rn.f32 %f0, %f1, %f2;", (1, HALF), 0),  # half of the smallest is a tie
    ("mul.f32 %f0, %f1, %f2;", (3, HALF), 2),
    ("div.rn.f32 %f0, %f1, %f2;", (ONE, 0x40400000), 0x3eaaaaab),
    ("div.rn.f32 %f0, %f1, %f2;", (0xbf800000, 0), 0xff800000),
    ("div.rn.f32 %f0, %f1, %f2;", (0, 0), NAN),
    # (1 + 2^-12)^2 - (1 + 2^-11) is 2^-24, which a product that is rounded first has lost.
    ("fma.rn.f32 %f0, %f1, %f2, %f3;", (0x3f800800, 0x3f800800, 0xbf801000), 0x33800000),
    ("max.f32 %f0, %f1, %f2;", (NAN, ONE), ONE),
    ("min.f32 %f0, %f1, %f2;", (0, 0x80000000), 0x80000000),
    ("neg.f32 %f0, %f1;", (ONE,), 0xbf800000),
    ("sqrt.rn.f32 %f0, %f1;", (0x40800000,), 0x40000000),
    ("cvt.rni.f32.f32 %f0, %f1;", (0x40200000,), 0x40000000),  # 2.5
    ("cvt.rni.f32.f32 %f0, %f1;", (0xbe800000,), 0x80000000),  # -0.25
    ("cvt.rn.f32.u32 %f0, %r1;", (0xffffffff,), 0x4f800000),
    ("cvt.f32.f16 %f0, %rs1;", (0x0001,), 0x33800000),  # 2^-24
    ("mov.f32 %f0, 0f3F800000;", (), ONE),
]
FLOAT_TO_WHOLE = [
    ("cvt.rzi.s32.f32 %r0, %f1;", (0xc0200000,), 0xfffffffe),
    ("cvt.rni.s32.f32 %r0, %f1;", (0x40600000,), 4),  # 3.5
    ("cvt.rzi.s32.f32 %r0, %f1;", (NAN,), 0),
    ("cvt.rzi.s32.f32 %r0, %f1;", (0x7f800000,), 0x7fffffff),
    ("cvt.rzi.u32.f32 %r0, %f1;", (0xbf800000,), 0),
    ("cvt.rn.f16.f32 %rs3, %f1; cvt.u32.u16 %r0, %rs3;", (0x477ff000,), 0x7c00),  # 65520 is a tie
    ("cvt.rn.f16.f32 %rs3, %f1; cvt.u32.u16 %r0, %rs3;", (0x477fefff,), 0x7bff),
    ("cvt.rn.bf16.f32 %rs3, %f1; cvt.u32.u16 %r0, %rs3;", (0x3f808000,), 0x3f80),
    ("cvt.rn.bf16.f32 %rs3, %f1; cvt.u32.u16 %r0, %rs3;", (0x3f818000,), 0x3f82),
    ("cvt.rn.bf16.f32 %rs3, %f1; cvt.u32.u16 %r0, %rs3;", (0x7f800001,), 0x7fff),
    ("cvt.rn.bf16x2.f32 %r0, %f1, %f2;", (ONE, HALF), 0x3f803f00),
    ("setp.ltu.f32 %p3, %f1, %f2; selp.u32 %r0, 1, 0, %p3;", (NAN, ONE), 1),
    ("setp.geu.f32 %p3, %f1, %f2; selp.u32 %r0, 1, 0, %p3;", (HALF, ONE), 0),
    ("setp.gt.f32 %p3, %f1, %f2; selp.u32 %r0, 1, 0, %p3;", (NAN, ONE), 0),
    ("setp.eq.f32 %p3, %f1, %f2; selp.u32 %r0, 1, 0, %p3;", (0, 0x80000000), 1),
]
LONG = [
    ("mul.wide.u32 %rd0, %r1, %r2;", (0xffffffff, 0xffffffff), 0xfffffffe00000001),
    ("mul.wide.s32 %rd0, %r1, %r2;", (0xffffffff, 3), 2**64 - 3),
    ("cvt.s64.s32 %rd0, %r1;", (0x80000000,), 0xffffffff80000000),
    ("div.u64 %rd0, %rd1, %rd2;", (2**63, 3), 2**63 // 3),
    ("bfi.b64 %rd0, %rd1, %rd2, 32, 32;", (7, 2**40 + 9), 7 * 2**32 + 9),
    ("shl.b64 %rd0, %rd1, 33;", (2**40 + 1,), 2**33),
    ("mov.b64 %rd0, {%r1, %r2};", (1, 2), 2**33 + 1),
]


class Instructions(unittest.TestCase):
    def test_answers(self):
        for rows, answer in ((WHOLE + FLOAT_TO_WHOLE, "%r0"), (FLOATING, "%f0"), (LONG, "%rd0")):
            for text, numbers, expected in rows:
                with self.subTest(text, numbers=[hex(n) for n in numbers]):
                    self.assertEqual(hex(answer_of(text, numbers, answer)), hex(expected))

    def test_what_is_unknown_is_named(self):
        for text in ("add.cc.u32 %r0, %r1, %r2;", "add.ftz.f32 %f0, %f1, %f2;", "cvt.rn.satfinite.f32.f16 %f0, %rs1;",
                     "ex2.approx.f32 %f0, %f1;", "wgmma.fence.sync.aligned;", "mad.lo.cc.u32 %r0, %r1, %r2, %r3;",
                     "div.approx.f32 %f0, %f1, %f2;",
                     "ld.global.u32 %r0, [%rd1], 5;", "cvt.rz.f16.f32 %rs0, %f1;"):
            with self.subTest(text), self.assertRaisesRegex(Unknown, text.split()[0].rstrip(";").replace(".", r"\.")):
                answer_of(text, ())

    def test_what_nobody_wrote_is_a_fault(self):
        for text in ("add.s32 %r0, %r4, 1;", "mov.u32 %r0, %r4;", "selp.b32 %r0, %r4, %r1, %p1;",
                     "selp.b32 %r0, %r1, %r2, %p5;", "@%p5 mov.u32 %r0, 1;",
                     "setp.eq.s32 %p3, %r4, %r1; mov.u32 %r0, 1;", "setp.eq.f32 %p3, %f4, %f1; mov.u32 %r0, 1;", "",
                     "not.pred %p3, %p5; mov.u32 %r0, 1;", "st.global.u32 [%rd8], %r4; mov.u32 %r0, 1;",
                     "max.u32 %r0, %r1, %r4;", "@%p5 bra out; mov.u32 %r0, 1; out:", "mov.b32 %r0, {%rs4, %rs1};"):
            with self.subTest(text), self.assertRaisesRegex(Fault, "register is read before"):
                answer_of(text, (1, 2))

    def test_roundings_by_fractions_and_by_doubles_agree(self):
        for kind, form in (("f16", exact.FLOAT16), ("bf16", exact.BFLOAT16)):
            for bits in range(0x10000):
                wide = floats.bits_of("f32", floats.value_of(kind, bits))
                if not exact.is_nan(form, bits):
                    self.assertEqual(exact.converted(form, exact.FLOAT32, bits), wide)
        numbers = [start + step * 977 for start in (0, 0x33000000, 0x38000000, 0x477f0000, 0x7f7f0000, 0x3f800000)
                   for step in range(60)]
        for bits in numbers + [1 << 31 | bits for bits in numbers]:
            for kind, form in (("f16", exact.FLOAT16), ("bf16", exact.BFLOAT16)):
                self.assertEqual(floats.bits_of(kind, floats.value_of("f32", bits)),
                                 exact.converted(exact.FLOAT32, form, bits) if not exact.is_nan(exact.FLOAT32, bits)
                                 else floats.NAN_BITS[kind])


HISTOGRAM = """
.visible .entry histogram(.param .u64 to, .param .u64 from, .param .u32 count)
{
  .reg .pred %p<4>; .reg .b32 %r<30>; .reg .b64 %rd<9>;
  .shared .align 4 .b8 bins[32];
  ld.param.u64 %rd1, [to]; ld.param.u64 %rd2, [from]; ld.param.u32 %r1, [count];
  mov.u32 %r2, %tid.x; mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ntid.x;
  setp.gt.u32 %p1, %r2, 7;
  shl.b32 %r5, %r2, 2; mov.u32 %r6, bins; add.s32 %r7, %r6, %r5;
  @!%p1 st.shared.u32 [%r7], 0;
  bar.sync 0;
  mad.lo.s32 %r8, %r3, %r4, %r2;
  setp.ge.u32 %p2, %r8, %r1;
  @%p2 bra counted;
  mul.wide.u32 %rd3, %r8, 16; add.s64 %rd4, %rd2, %rd3;
  ld.global.v4.u32 {%r10, %r11, %r12, %r13}, [%rd4];
  shl.b32 %r10, %r10, 2; add.s32 %r10, %r6, %r10; atom.shared.add.u32 %r20, [%r10], 1;
  shl.b32 %r11, %r11, 2; add.s32 %r11, %r6, %r11; atom.shared.add.u32 %r20, [%r11], 1;
  shl.b32 %r12, %r12, 2; add.s32 %r12, %r6, %r12; red.shared.add.u32 [%r12], 1;
  shl.b32 %r13, %r13, 2; add.s32 %r13, %r6, %r13; red.shared.add.u32 [%r13], 1;
counted:
  bar.sync 0;
  @%p1 ret;
  ld.shared.u32 %r15, [%r7];
  mul.wide.u32 %rd5, %r2, 4; add.s64 %rd6, %rd1, %rd5;
  red.global.add.u32 [%rd6], %r15;
  ret;
}
"""

# What CUB's scan of a warp is made of; then a ballot, and the sums of warps through shared memory.
SCAN = """
.visible .entry scan(.param .u64 to, .param .u64 from)
{
  .reg .pred %p<4>; .reg .b32 %r<30>; .reg .b64 %rd<9>;
  .shared .align 4 .b8 sums[8];
  ld.param.u64 %rd1, [to]; ld.param.u64 %rd2, [from];
  mov.u32 %r1, %tid.x; mov.u32 %r2, %laneid;
  mul.wide.u32 %rd3, %r1, 4; add.s64 %rd4, %rd2, %rd3; add.s64 %rd5, %rd1, %rd3;
  ld.global.nc.u32 %r3, [%rd4];
  { .reg .u32 r0; .reg .pred p; shfl.sync.up.b32 r0|p, %r3, 1, 0, -1; @p add.u32 r0, r0, %r3;
    mov.u32 %r4, %r3; @p mov.u32 %r4, r0; }
  { .reg .u32 r0; .reg .pred p; shfl.sync.up.b32 r0|p, %r4, 2, 0, -1; @p add.u32 r0, r0, %r4; @p mov.u32 %r4, r0; }
  { .reg .u32 r0; .reg .pred p; shfl.sync.up.b32 r0|p, %r4, 4, 0, -1; @p add.u32 r0, r0, %r4; @p mov.u32 %r4, r0; }
  { .reg .u32 r0; .reg .pred p; shfl.sync.up.b32 r0|p, %r4, 8, 0, -1; @p add.u32 r0, r0, %r4; @p mov.u32 %r4, r0; }
  { .reg .u32 r0; .reg .pred p; shfl.sync.up.b32 r0|p, %r4, 16, 0, -1; @p add.u32 r0, r0, %r4; @p mov.u32 %r4, r0; }
  setp.ne.u32 %p1, %r2, 31;
  shr.u32 %r5, %r1, 5; shl.b32 %r6, %r5, 2; mov.u32 %r7, sums; add.s32 %r8, %r7, %r6;
  @!%p1 st.shared.u32 [%r8], %r4;
  bar.sync 0;
  ld.shared.u32 %r9, [sums];
  setp.gt.u32 %p2, %r5, 0;
  @%p2 add.s32 %r4, %r4, %r9;
  vote.sync.ballot.b32 %r10, %p1, -1;
  setp.ne.u32 %p3, %r10, 0x7fffffff;
  @%p3 trap;
  st.global.u32 [%rd5], %r4;
  ret;
}
"""


def run(program, grid, block, buffers, order=None, **options):
    """buffers: (words, whether they may be written), or a number. Returns what stands in the first one."""
    host, arguments, first = Host(), [], None
    for i, one in enumerate(buffers):
        if isinstance(one, int):
            arguments.append(one)
            continue
        content = b"".join(word.to_bytes(4, "little") for word in one[0])
        place, buffer = host.room(f"buffer {i}", len(content), 0, content)
        buffer.is_writable = one[1]
        arguments.append(place)
        first = first or buffer
    if isinstance(program, str):
        program = program_of(program)
    launch(program, host, grid, block, arguments, order=order, **options)
    return [int.from_bytes(first.bytes[i:i + 4], "little") for i in range(0, len(first.bytes), 4)]


class Kernels(unittest.TestCase):
    def test_histogram(self):
        numbers = [i * i % 7 for i in range(4 * 70)]
        expected = [numbers.count(i) for i in range(8)]
        for order in (None, 1, 2):
            self.assertEqual(run(HISTOGRAM, 3, 32, [([0] * 8, True), (numbers, False), 70], order), expected)

    def test_histogram_without_its_barriers_is_a_race(self):
        for gone in (HISTOGRAM.replace("  bar.sync 0;\n  mad", "  mad"),
                     HISTOGRAM.replace("  bar.sync 0;\n  @%p1 ret", "  @%p1 ret"),
                     HISTOGRAM.replace("atom.shared.add.u32 %r20, [%r11], 1", "ld.shared.u32 %r20, [%r11]")):
            with self.assertRaisesRegex(Fault, "race|before it is written"):
                run(gone, 1, 32, [([0] * 8, True), ([1] * 128, False), 32])

    def test_scan(self):
        numbers = [(i * 37) % 101 for i in range(64)]
        expected = [sum(numbers[:i + 1]) for i in range(64)]
        for order in (None, 1, 2):
            self.assertEqual(run(SCAN, 1, 64, [([0] * 64, True), (numbers, False)], order), expected)

    def test_every_instruction_of_both_matters(self):
        numbers = [i * i % 7 for i in range(4 * 40)]
        for text, grid, block, buffers in ((HISTOGRAM, 2, 32, [([0] * 8, True), (numbers, False), 40]),
                                           (SCAN, 1, 64, [([0] * 64, True), (numbers[:64], False)])):
            program = program_of(text)
            right = run(program, grid, block, buffers)
            for at, instruction in enumerate(program.kernel.instructions):
                try:
                    found = run(program.without(at), grid, block, buffers, limit=100_000)
                except Fault:
                    found = None
                # A trap is not met by a kernel that is right.
                self.assertEqual(found != right, instruction.op != "trap", mutants.text_of(instruction))


TWO_PLACES = """
.visible .entry places(.param .u64 to, .param .u64 from)
{
  .reg .pred %p<4>; .reg .b32 %r<9>; .reg .b64 %rd<9>;
  .shared .align 4 .b8 room[8];
  ld.param.u64 %rd1, [to]; ld.param.u64 %rd2, [from];
  mov.u32 %r1, %tid.x; mov.u32 %r3, %ctaid.x; setp.eq.s32 %p1, %r1, 0; setp.eq.s32 %p2, %r3, 0;
  TEXT
  ret;
}
"""
PLACES = [([0, 0], True), ([0, 0], False)]
FAULTS = [  # text, grid, threads, what the fault says
    ("st.global.u32 [%rd1+8], %r1;", 1, 1, "bytes 8 to 12 of buffer 0, which has 8"),
    ("st.global.u32 [%rd1+-4], %r1;", 1, 1, "bytes -4 to 0"),
    ("st.global.u64 [%rd1+4], %rd1;", 1, 1, "not aligned to 8"),
    ("ld.global.v2.u32 {%r2, %r4}, [%rd1+4];", 1, 1, "not aligned to 8"),
    ("st.global.u32 [%rd2], %r1;", 1, 1, "only to be read"),
    ("ld.global.u32 %r2, [%r1];", 1, 1, "nothing lies at"),
    ("ld.shared.u32 %r2, [room];", 1, 1, "byte 0 of room is read before it is written"),
    ("ld.shared.u32 %r2, [room+8];", 1, 1, "bytes 8 to 12 of room"),
    ("st.global.u32 [%rd1], 7;", 1, 2, "race: thread 1 of block 0 writes byte 0 of buffer 0"),
    ("st.global.u32 [%rd1], 7;", 2, 1, "race: thread 0 of block 1 writes"),
    ("@%p1 st.global.u32 [%rd1], 7; @!%p1 ld.global.u32 %r2, [%rd1];", 1, 2, "race: thread 1 of block 0 reads"),
    ("ld.global.u32 %r2, [%rd1]; @!%p1 st.global.u32 [%rd1], 7;", 1, 3, "race"),
    ("red.global.add.u32 [%rd1], 1; @%p1 ld.global.u32 %r2, [%rd1];", 1, 2, "race"),
    ("bar.sync 0; st.global.u32 [%rd1], 7;", 1, 2, "race"),
    ("st.global.u32 [%rd1], 7; bar.sync 0;", 2, 1, "race"),
    ("@%p1 bra out; bar.sync 0; bar.sync 1; out: bar.sync 1;", 1, 2, "1 of 2 threads come to barrier 0"),
    ("@%p1 bra out; bar.warp.sync 3; out:", 1, 2, "1 threads wait for ever"),
    ("shfl.sync.down.b32 %r2, %r1, 1, 31, 3; shfl.sync.idx.b32 %r4, %r1, 9, 31, 3;", 1, 2, "takes no part"),
    ("@!%p1 shfl.sync.idx.b32 %r2, %r1, 0, 31, 1;", 1, 2, "not in the mask"),
    ("again: bra again;", 1, 1, "does not end"),
    ("again: ld.volatile.global.u32 %r2, [%rd1]; setp.eq.s32 %p3, %r2, 0; @%p3 bra again;", 1, 1, "does not end"),
    ("div.u32 %r2, %r1, %r3;", 1, 1, "division by zero"),
    ("trap;", 1, 1, "trap"),
]
ALLOWED = [
    ("@%p1 st.global.u32 [%rd1], 7; bar.sync 0; @!%p1 st.global.u32 [%rd1], 8;", 1, 2, [8, 0]),
    ("@%p1 st.shared.u32 [room], 7; bar.warp.sync 3; ld.shared.u32 %r2, [room]; "
     "@!%p1 st.global.u32 [%rd1], %r2;", 1, 2, [7, 0]),
    ("atom.global.add.u32 %r2, [%rd1], 2;", 3, 5, [30, 0]),
    ("atom.global.inc.u32 %r2, [%rd1], 6;", 3, 5, [1, 0]),  # fifteen times round seven
    ("atom.global.max.s32 %r2, [%rd1], -5;", 1, 1, [0, 0]),
    ("atom.global.min.s32 %r2, [%rd1], -5;", 1, 1, [0xfffffffb, 0]),
    ("atom.global.cas.b32 %r2, [%rd1], 0, 9; @%p1 red.global.add.u32 [%rd1+4], %r2;", 1, 1, [9, 0]),
    ("atom.global.exch.b32 %r2, [%rd1], 9;", 1, 1, [9, 0]),
    # A thread that waits for what the next one writes.
    ("@!%p1 bra give; again: ld.volatile.global.u32 %r2, [%rd1]; setp.eq.s32 %p3, %r2, 0; @%p3 bra again; "
     "st.global.u32 [%rd1+4], %r2; ret; give: st.volatile.global.u32 [%rd1], 5;", 1, 2, [5, 5]),
    ("shfl.sync.bfly.b32 %r2, %r1, 1, 31, -1; @%p1 st.global.u32 [%rd1], %r2;", 1, 32, [1, 0]),
    ("redux.sync.add.u32 %r2, %r1, -1; @%p1 st.global.u32 [%rd1], %r2;", 1, 32, [496, 0]),
    ("and.b32 %r4, %r1, 3; match.any.sync.b32 %r2, %r4, -1; @%p1 st.global.u32 [%rd1], %r2;", 1, 32,
     [0x11111111, 0]),
    ("bar.red.popc.u32 %r2, 0, %p1; @%p1 st.global.u32 [%rd1], %r2;", 1, 40, [1, 0]),
    (".local .align 8 .b8 depot[8]; mov.u64 %rd3, depot; cvta.local.u64 %rd4, %rd3; st.u32 [%rd4+4], %r1; "
     "ld.local.u32 %r2, [%rd3+4]; bar.sync 0; @!%p1 st.global.u32 [%rd1], %r2;", 1, 2, [1, 0]),
    (".const .align 4 .u32 table[2] = {7, 9}; ld.const.u32 %r2, [table+4]; st.global.u32 [%rd1], %r2;", 1, 1, [9, 0]),
    ("cvta.shared.u64 %rd3, %rd2; mov.u64 %rd4, room; cvta.shared.u64 %rd5, %rd4; st.u32 [%rd5], 3; "
     "ld.shared.u32 %r2, [room]; st.global.u32 [%rd1], %r2;", 1, 1, [3, 0]),
]


class Memory(unittest.TestCase):
    def test_faults(self):
        for text, grid, block, said in FAULTS:
            for order in (None, 5):
                with self.subTest(text, order=order), self.assertRaisesRegex(Fault, said if order is None else "."):
                    run(TWO_PLACES.replace("TEXT", text), grid, block, PLACES, order, limit=5000)

    def test_what_is_allowed(self):
        for text, grid, block, expected in ALLOWED:
            for order in (None, 5, 6):
                with self.subTest(text, order=order):
                    self.assertEqual(run(TWO_PLACES.replace("TEXT", text), grid, block, PLACES, order), expected)

    def test_warps_that_are_left_out_may_count_as_zero(self):
        text = TWO_PLACES.replace("TEXT", "ld.shared.u32 %r2, [room]; st.global.u32 [%rd1], %r2;")
        self.assertEqual(run(text, 1, 1, PLACES, has_zeros=True)[0], 0)
        with self.assertRaisesRegex(Fault, "before it is written"):
            run(text, 1, 1, PLACES)


class Mutants(unittest.TestCase):
    def test_a_kernel_may_have_so_many_of_a_kind(self):
        text = TWO_PLACES.replace("TEXT", "st.global.u32 [%rd1], 1; @%p1 bra END;" * 2 + "END:")
        kernel = program_of(text).kernel
        branches = [at for at, one in enumerate(kernel.instructions) if one.op == "bra"]
        reasons = mutants.Reasons("copy_packs", kernel, lambda at: False)
        said = [reasons.of(at) for at in branches]
        self.assertEqual([one is None for one in said], [False, True])

    def test_runs_are_watched(self):
        program, seen = program_of(HISTOGRAM).watched()
        run(program, 1, 32, [([0] * 8, True), ([1] * 128, False), 32])
        last = program.run_of(len(program.kernel.instructions) - 1)
        self.assertIn(0, seen)
        self.assertIn(last, seen)


if __name__ == "__main__":
    unittest.main()
