from __future__ import annotations

import pytest

from kernelcontracts.kernels.address import Address, AddressError, parse_address


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("numpy:matmul", Address("numpy", "matmul")),
        ("numpy:reduce_sum?axis=0", Address("numpy", "reduce_sum", "", (("axis", "0"),))),
        ("dir/my.py:f", Address("file", "f", "dir/my.py")),
        ("my.py:f?arrays=torch", Address("file", "f", "my.py", (("arrays", "torch"),))),
        ("emulator:matmul?a=to(tf32)&b=1", Address("emulator", "matmul", "", (("a", "to(tf32)"), ("b", "1")))),
    ],
)
def test_an_address_is_read_and_written_the_same(text, address):
    assert parse_address(text) == address
    assert str(address) == text


@pytest.mark.parametrize("text", ["numpy", "numpy:", ":matmul", "", "?a=1"])
def test_what_is_no_address_is_refused_with_an_example(text):
    with pytest.raises(AddressError, match="expected `adapter:function`"):
        parse_address(text)


@pytest.mark.parametrize("text", ["numpy:f?a", "numpy:f?=1", "numpy:f?a=1&"])
def test_an_option_needs_a_name_and_a_value(text):
    with pytest.raises(AddressError, match="expected `name=value`"):
        parse_address(text)


def test_an_option_can_be_asked_for_by_name():
    assert parse_address("a:b?x=1").option("x") == "1"
    assert parse_address("a:b?x=1").option("y") is None
