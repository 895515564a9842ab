"""When a worker is believed to have stopped reading its queue."""

from threading import Event, Thread

import httpx
from prometheus_client import CollectorRegistry, Gauge

from agon.worker.endpoint import serve_state
from agon.worker.stall import Running, Stall


def test_jobs_that_nobody_takes_are_timed() -> None:
    stall = Stall()
    assert [stall.look(now, waiting=2, running=0, taken=5) for now in (1.0, 2.0, 4.0)] == [0.0, 1.0, 3.0]


def test_anything_that_happens_begins_the_time_anew() -> None:
    stall = Stall()
    stall.look(1.0, waiting=1, running=0, taken=0)
    assert stall.look(5.0, waiting=1, running=0, taken=0) == 4.0
    assert stall.look(6.0, waiting=1, running=0, taken=1) == 0.0, "one was taken"
    assert stall.look(9.0, waiting=1, running=0, taken=1) == 3.0
    assert stall.look(10.0, waiting=0, running=0, taken=1) == 0.0, "none waits"
    assert stall.look(11.0, waiting=1, running=0, taken=1) == 0.0
    assert stall.look(12.0, waiting=1, running=3, taken=1) == 0.0, "some run"
    assert stall.look(13.0, waiting=1, running=0, taken=1) == 0.0
    assert stall.look(14.0, waiting=1, running=0, taken=1) == 1.0


def test_running_jobs_are_counted_over_threads() -> None:
    running, inside, go_on = Running(), Event(), Event()

    def job() -> None:
        with running.one():
            inside.set()
            go_on.wait(timeout=5)

    thread = Thread(target=job)
    thread.start()
    assert inside.wait(timeout=5)
    assert (running.running, running.taken) == (1, 1)
    go_on.set()
    thread.join()
    assert (running.running, running.taken) == (0, 1)


def test_a_worker_says_how_it_is_doing() -> None:
    registry, ready = CollectorRegistry(), Event()
    Gauge("arena_something", "Something", registry=registry).set(3)
    with serve_state("127.0.0.1", 0, registry, ready) as port, httpx.Client(base_url=f"http://127.0.0.1:{port}") as ask:
        assert ask.get("/ready").status_code == 503
        ready.set()
        assert ask.get("/ready").status_code == 200
        assert "arena_something 3.0" in ask.get("/metrics").text
