from __future__ import annotations

import itertools

import numpy as np
import pytest

from kernelcontracts.formats.arrays import bits, dtype_of
from kernelcontracts.kernels.layout import (
    LAYOUTS,
    PAGE,
    LayoutError,
    fences_hold,
    fill_fences,
    lay_out,
    view,
)

SHAPES = [(), (0,), (1,), (7,), (3, 5), (0, 4), (4, 0), (2, 3, 4), (1, 1), (3, 5000)]


def staged(shape, layout, fmt="f32"):
    zones, size = lay_out({"T": (fmt, shape), "U": ("f64", (3,))}, {"T": layout})
    memory = np.zeros(size, np.uint8)
    pattern = np.random.default_rng(0).integers(1, 256, PAGE).astype(np.uint8)
    for zone in zones.values():
        fill_fences(memory, zone, pattern)
    return zones["T"], memory, pattern


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("shape", SHAPES)
def test_writing_every_element_of_a_tensor_leaves_its_fences_alone(shape, layout):
    zone, memory, pattern = staged(shape, layout)
    tensor = view(memory, zone.place)
    tensor[...] = np.arange(tensor.size).reshape(shape)

    assert tensor.shape == shape
    assert tensor.reshape(-1).tolist() == list(range(tensor.size))
    assert fences_hold(memory, zone, pattern)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("shape", SHAPES)
def test_every_byte_between_two_tensors_belongs_to_a_fence(shape, layout):
    zone, memory, pattern = staged(shape, layout)
    tensor = view(memory, zone.place)
    covered = np.zeros(memory.size, bool)
    inside = np.ndarray(shape, f"V{tensor.itemsize}", memory, zone.place.offset, zone.place.strides)
    before = memory.copy()
    bits(tensor)[...] = ~bits(tensor)
    covered[memory != before] = True
    memory[:] = before
    assert covered.sum() == inside.size * tensor.itemsize
    for offset in {zone.before, zone.start - 1, zone.end, zone.after - 1, zone.end - 1}:
        if covered[offset]:
            continue
        memory[offset] ^= 1
        assert not fences_hold(memory, zone, pattern), offset
        memory[offset] ^= 1


@pytest.mark.parametrize("shape", [(3, 5), (2, 3, 4), (4,)])
def test_a_write_between_strided_rows_is_seen(shape):
    zone, memory, pattern = staged(shape, "strided")
    memory[zone.start + zone.row_bytes] ^= 1

    assert not fences_hold(memory, zone, pattern)


def test_layouts_differ_in_strides_alone():
    strides = {layout: staged((2, 3, 4), layout)[0].place.strides for layout in LAYOUTS}

    assert strides["contiguous"] == (48, 16, 4)
    assert strides["fortran"] == (48, 4, 12)
    assert strides["strided"] == (84, 28, 4)


def test_one_row_too_many_stays_within_the_fence():
    zone, _, _ = staged((3, 5000), "contiguous")

    assert zone.after - zone.end >= 5000 * dtype_of("f32").itemsize


def test_zones_do_not_overlap_and_start_on_pages():
    zones, size = lay_out({"A": ("f16", (5, 3)), "B": ("bf16", ()), "C": ("i64", (2,))}, {})
    edges = [(z.before, z.start, z.end, z.after) for z in zones.values()]

    assert all(start % PAGE == 0 for _, start, _, _ in edges)
    assert all(first[3] <= second[0] for first, second in itertools.pairwise(edges))
    assert edges[-1][3] == size


def test_an_unknown_layout_is_an_error_that_lists_the_known():
    with pytest.raises(LayoutError, match="`diagonal` is not a memory layout; expected one of `contiguous`"):
        lay_out({"A": ("f32", (2,))}, {"A": "diagonal"})
