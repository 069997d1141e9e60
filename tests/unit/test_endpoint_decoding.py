"""Images are decoded as far as the machine's threads and memory go, and what cannot be decoded is named."""

import random
import time
from collections.abc import Callable
from threading import Barrier, Event, Lock, Thread

import pytest
from PIL import Image as Pillow

from endpoint.decoding import Decoders, PixelBudget, TooLarge, TooLate, decode
from tests.support.pictures import KINDS, ORIENTATION, draw, gif_of_frame, make, png, saved
from tests.support.requests import image, picture
from tokencount.domain.chat import Image
from tokencount.domain.errors import InvalidRequest, UnsupportedImage

NEVER = float("inf")


def block(data: bytes, media_type: str = "image/png", at: int = 0) -> Image:
    return Image(f"messages.0.content.{at}", image(data, media_type)["source"])


def side_of(picture: Pillow.Image) -> str:
    return str(picture.width)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [(1, 1), (40, 17)], ids=str)
def test_a_picture_of_every_kind_is_decoded_at_its_size(kind: str, size: tuple[int, int]) -> None:
    made = make(kind, size, random.Random(4))
    decoded = decode(block(made.data, made.media_type))
    # An orientation may turn it by a quarter.
    assert sorted(decoded.size) == sorted(size)
    assert decoded.convert("RGBA").getpixel((0, 0)) is not None


def test_the_first_frame_of_an_animation_is_decoded() -> None:
    red, blue = Pillow.new("RGB", (8, 8), "red"), Pillow.new("RGB", (8, 8), "blue")
    for form, media_type in (("GIF", "image/gif"), ("WEBP", "image/webp"), ("PNG", "image/png")):
        data = saved(red, form, save_all=True, append_images=[blue])
        pixel = decode(block(data, media_type)).convert("RGB").getpixel((4, 4))
        assert isinstance(pixel, tuple)
        assert pixel[0] > 200 > pixel[2]


@pytest.mark.parametrize("form", ["JPEG", "PNG", "WEBP"])
def test_a_picture_is_turned_upright_as_its_orientation_says(form: str) -> None:
    exif = Pillow.Exif()
    exif[ORIENTATION] = 6
    data = saved(draw((30, 20)), form, exif=exif.tobytes())
    assert decode(block(data, f"image/{form.lower()}")).size == (20, 30)


def test_a_gif_s_frame_stands_on_the_whole_screen() -> None:
    assert decode(block(gif_of_frame((50, 40), (10, 10), (5, 5)), "image/gif")).size == (50, 40)


@pytest.mark.parametrize("kind", KINDS)
def test_half_a_picture_is_refused_with_its_place(kind: str) -> None:
    made = make(kind, (200, 150), random.Random(4))
    # A GIF or an animation may hold its first frame in half of its bytes.
    data = made.data[: len(made.data) // (4 if "animated" in kind or "several" in kind else 2)]
    with pytest.raises(InvalidRequest) as refusal:
        Decoders(side_of, 1).expansions([block(data, made.media_type, at=3)], NEVER)
    assert refusal.value.param == "messages.0.content.3.source.data"


def test_bytes_of_another_type_are_refused_as_the_function_refuses_them() -> None:
    with pytest.raises(UnsupportedImage):
        Decoders(side_of, 1).expansions([block(picture(4, 4, "JPEG"))], NEVER)


def test_expansions_come_in_the_order_of_the_images() -> None:
    images = [block(picture(side, 4), at=at) for at, side in enumerate((30, 10, 20))]
    assert Decoders(side_of, 3).expansions(images, NEVER) == ["30", "10", "20"]


def test_of_several_images_that_cannot_be_served_the_first_is_named_and_the_rest_are_left() -> None:
    tried = []

    def refuse(picture: Pillow.Image) -> str:
        tried.append(picture.width)
        if picture.width > 10:
            raise ValueError("too wide")
        return ""

    images = [block(picture(side, 4), at=at) for at, side in enumerate((10, 20, 30, 40, 50, 60))]
    with pytest.raises(InvalidRequest, match="refuses the image: too wide") as refusal:
        Decoders(refuse, 1).expansions(images, NEVER)
    assert refusal.value.param == "messages.0.content.1"
    assert tried == [10, 20]


def test_as_many_images_as_threads_are_worked_on_at_a_time_and_no_more() -> None:
    lock, now, most, pair = Lock(), 0, 0, Barrier(2)

    def work(_: Pillow.Image) -> str:
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        pair.wait(10)
        with lock:
            now -= 1
        return ""

    decoders = Decoders(work, 2)
    images = [block(picture(4, 4))] * 6
    requests = [Thread(target=decoders.expansions, args=(images, NEVER)) for _ in range(3)]
    for thread in requests:
        thread.start()
    for thread in requests:
        thread.join()
    assert most == 2


def test_an_image_of_more_than_179_million_pixels_is_never_decoded() -> None:
    with pytest.raises(TooLarge):
        Decoders(side_of, 1).expansions([block(png((13_378, 13_378), 1, 0))], NEVER)


def test_an_image_whose_time_is_over_is_not_decoded() -> None:
    with pytest.raises(TooLate):
        Decoders(side_of, 1).expansions([block(picture(4, 4))], time.monotonic())


class Holder:
    """Holds pixels of a budget until it is let go."""

    def __init__(self, budget: PixelBudget, pixels: int) -> None:
        self.inside, self._go = Event(), Event()
        self._thread = Thread(target=self._hold, args=(budget, pixels))
        self._thread.start()

    def _hold(self, budget: PixelBudget, pixels: int) -> None:
        with budget.hold(pixels):
            self.inside.set()
            self._go.wait()

    def let_go(self) -> None:
        self._go.set()
        self._thread.join()


@pytest.fixture
def hold() -> Callable[[int], Holder]:
    budget = PixelBudget(100)
    return lambda pixels: Holder(budget, pixels)


def test_images_are_let_in_while_they_have_room_together(hold: Callable[[int], Holder]) -> None:
    first, second = hold(60), hold(40)
    assert first.inside.wait(10)
    assert second.inside.wait(10)
    third = hold(1)
    assert not third.inside.wait(0.05)
    second.let_go()
    assert third.inside.wait(10)
    first.let_go()
    third.let_go()


def test_an_image_larger_than_the_room_is_let_in_alone_and_none_overtakes_it(hold: Callable[[int], Holder]) -> None:
    small = hold(1)
    assert small.inside.wait(10)
    large = hold(500)
    assert not large.inside.wait(0.05)
    late = hold(1)
    assert not late.inside.wait(0.05)
    small.let_go()
    assert large.inside.wait(10)
    assert not late.inside.is_set()
    large.let_go()
    assert late.inside.wait(10)
    late.let_go()
