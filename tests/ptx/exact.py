"""What floating-point numbers are and how they are rounded, by fractions: whole numbers and nothing else.

Expected results come from here. IEEE 754-2019, 3.4 (formats) and 4.3.1 (to nearest, ties to even). It
shares nothing with the arithmetic of the interpreter. None stands for any NaN, because its bits are not promised.
"""
import functools
from collections import namedtuple
from fractions import Fraction

Format = namedtuple("Format", "name bits exponent_bits mantissa_bits")
FLOAT32 = Format("float32", 32, 8, 23)
FLOAT16 = Format("float16", 16, 5, 10)
BFLOAT16 = Format("bfloat16", 16, 8, 7)


@functools.cache
def power_of_2(exponent):
    return Fraction(2)**exponent


def sign_of(form, bits):
    return bits >> (form.bits - 1)


def infinity(form):
    return ((1 << form.exponent_bits) - 1) << form.mantissa_bits


def magnitude(form, bits):
    """Of the number without its sign: a fraction, or None where it is infinite or no number."""
    exponent = bits >> form.mantissa_bits & (1 << form.exponent_bits) - 1
    mantissa = bits & (1 << form.mantissa_bits) - 1
    if exponent == (1 << form.exponent_bits) - 1:
        return None
    least = 2 - (1 << (form.exponent_bits - 1)) - form.mantissa_bits  # of the last digit of the smallest
    if exponent == 0:
        return mantissa * power_of_2(least)
    return (mantissa + (1 << form.mantissa_bits)) * power_of_2(least + exponent - 1)


def is_nan(form, bits):
    return bits & (1 << (form.bits - 1)) - 1 > infinity(form)


def is_infinite(form, bits):
    return bits & (1 << (form.bits - 1)) - 1 == infinity(form)


def nearest_even(number):
    """The whole number nearest to a fraction."""
    down = number.numerator // number.denominator
    beyond = number - down
    return down + (beyond > Fraction(1, 2) or (beyond == Fraction(1, 2) and down % 2 == 1))


def rounded(form, sign, number):
    """The bits of the nearest number to a fraction that is not negative."""
    top = sign << (form.bits - 1)
    least = 2 - (1 << (form.exponent_bits - 1)) - form.mantissa_bits
    if number == 0:
        return top
    last = number.numerator.bit_length() - number.denominator.bit_length() - form.mantissa_bits
    if number < power_of_2(last + form.mantissa_bits):
        last -= 1  # the bits of numerator and denominator tell the exponent up to one
    last = max(last, least)
    # As many last digits as this, counted on through the exponents: a carry goes into the next one.
    digits = nearest_even(number / power_of_2(last))
    bits = digits + ((last - least) << form.mantissa_bits)
    return top | min(bits, infinity(form))


def sum_of(form, a, b):
    """Of two numbers of a format, as a float32 if form is another: (sign, fraction), bits of infinity, or None."""
    if is_nan(form, a) or is_nan(form, b):
        return None
    if is_infinite(form, a) or is_infinite(form, b):
        if is_infinite(form, a) and is_infinite(form, b) and sign_of(form, a) != sign_of(form, b):
            return None
        return a if is_infinite(form, a) else b
    signs = [sign_of(form, a), sign_of(form, b)]
    total = sum((-1)**sign * magnitude(form, bits) for sign, bits in zip(signs, (a, b)))
    if total == 0:
        return rounded(form, signs[0] & signs[1], Fraction(0))
    bits = rounded(FLOAT32, int(total < 0), abs(total))
    return converted(FLOAT32, form, bits)


def converted(source, form, bits):
    if is_nan(source, bits):
        return None
    if is_infinite(source, bits):
        return sign_of(source, bits) << (form.bits - 1) | infinity(form)
    return rounded(form, sign_of(source, bits), magnitude(source, bits))


def quotient(a, b):
    """Of float32 numbers that are finite, b not zero."""
    return rounded(FLOAT32, sign_of(FLOAT32, a) ^ sign_of(FLOAT32, b), magnitude(FLOAT32, a) / magnitude(FLOAT32, b))


def bits_of(form, number):
    """Of a Python number that need not be one of the format."""
    exact = Fraction(number)
    return rounded(form, int(exact < 0), abs(exact))
