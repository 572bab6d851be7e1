"""Ways to lose updates between threads, and ways that lose none; each program follows its name."""

IMPORTS = """
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
import tensorflow as tf
seen = tf.Variable(0)
lock = threading.Lock()
"""
START = """
for _ in range(4):
    threading.Thread(target=work).start()
"""
COUNT = """
now = seen.read_value()
now += 1
seen.assign(now)  # <- here
"""
WORK = "def work():\n    COUNT"
RULE = "unlocked-threads"

BAD = """
#: handed to the thread
def count(variable):
    COUNT variable
for _ in range(4):
    threading.Thread(target=count, args=(seen,)).start()
#: a member of a shared object
class Counter:
    def __init__(self):
        self.seen = tf.Variable(0)
    def count(self):
        now = self.seen.read_value()
        now = now + 1
        self.seen.assign(now)  # <- here
counter = Counter()
threads = [threading.Thread(target=counter.count) for _ in range(4)]
#: given to objects that are threads
class Worker(threading.Thread):
    def __init__(self, variable):
        super().__init__()
        self.variable = variable
    def run(self):
        COUNT self.variable
for each in [Worker(seen) for _ in range(4)]:
    each.start()
#: by partial
def count(variable, by):
    now = variable.read_value()
    variable.assign(now + by)  # <- here
for by in range(4):
    threading.Thread(target=partial(count, seen, by)).start()
#: in a list that a comprehension makes
counters = [tf.Variable(0) for _ in range(2)]
def work():
    now = counters[0].read_value()
    counters[0].assign(now + 1)  # <- here
START
#: two functions, each in one thread
def add():
    COUNT
def take():
    COUNT
threading.Thread(target=add).start()
threading.Thread(target=take).start()
#: threads that a function starts
WORK
def launch():
    threading.Thread(target=work).start()
for _ in range(4):
    launch()
#: threads of a generator
WORK
for each in (threading.Thread(target=work) for _ in range(4)):
    each.start()
#: a closure in a pool
def train():
    total = tf.Variable(0.0)
    def work(part):
        before = total.read_value()
        after = before + tf.reduce_sum(part)
        total.assign(value=after)  # <- here
    with ThreadPoolExecutor(4) as pool:
        for part in parts:
            pool.submit(work, part)
train()
#: a compiled function
@tf.function
WORK
START
#: the variable of a class
class State:
    seen = tf.Variable(0)
def work():
    COUNT State.seen
START
#: the weights of a model
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
def work():
    weights = model.get_weights()
    weights = [each * 0.9 for each in weights]
    model.set_weights(weights)  # <- here
START
#: subtracted under the name of the old value
def work():
    now = 1 + seen.read_value()
    seen.assign_add(now)  # <- here
START
"""

GOOD = """
#: a lock in the caller
def count():
    COUNT
def work():
    with lock:
        count()
START
#: a lock that is acquired
def work():
    lock.acquire()
    COUNT
    lock.release()
START
#: a lock that a decorator holds
@synchronized
WORK
START
#: a critical section
section = tf.CriticalSection()
def count():
    now = seen.read_value()
    seen.assign(now + 1)
    return now
def work():
    section.execute(count)
START
#: what is assigned depends on nothing shared
def work():
    now = 0
    now += 1
    seen.assign(now)
START
#: only the shape is read
def work():
    empty = tf.zeros(seen.shape, seen.dtype)
    seen.assign(empty)
START
#: one variable is read, another one written
total = tf.Variable(0)
def work():
    now = seen.read_value()
    now += 1
    total.assign(now)
START
#: a variable of the thread
def work():
    mine = tf.Variable(0)
    COUNT mine
START
#: a variable of the object that is the thread
class Worker(threading.Thread):
    def __init__(self):
        super().__init__()
        self.seen = tf.Variable(0)
    def run(self):
        COUNT self.seen
for _ in range(4):
    Worker().start()
#: two objects that are threads
class Worker(threading.Thread):
    seen = None
    def run(self):
        COUNT self.seen
    def prepare(self):
        self.seen = tf.Variable(0)
first, second = Worker(), Worker()
first.start()
second.start()
#: a variable for each call
def launch():
    mine = tf.Variable(0)
    def work():
        COUNT mine
    threading.Thread(target=work).start()
for _ in range(4):
    launch()
#: an object for each thread
class Counter:
    def __init__(self):
        self.seen = tf.Variable(0)
    def count(self):
        COUNT self.seen
for _ in range(4):
    counter = Counter()
    threading.Thread(target=counter.count).start()
#: a variable for each thread
def count(variable):
    COUNT variable
for each in [tf.Variable(0) for _ in range(4)]:
    threading.Thread(target=count, args=(each,)).start()
#: one thread after the other
WORK
for _ in range(4):
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
#: one thread after the other, each with its own words
WORK
first = threading.Thread(target=work)
first.start()
first.join()
threading.Thread(target=work).start()
#: one thread after the other, started by a function
WORK
def launch():
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
for _ in range(4):
    launch()
#: a timer that starts the next one
WORK
    threading.Timer(1.0, work).start()
threading.Timer(1.0, work).start()
#: a thread that is started again after it was stopped
class Trainer:
    def __init__(self):
        self.seen = tf.Variable(0)
    def count(self):
        COUNT self.seen
    def start(self):
        threading.Thread(target=self.count).start()
    def resume(self):
        threading.Thread(target=self.count).start()
#: a pool of one thread
WORK
pool = ThreadPoolExecutor(max_workers=1)
for _ in range(4):
    pool.submit(work)
#: a pool whose results are awaited
WORK
pool = ThreadPoolExecutor()
for _ in range(4):
    pool.submit(work).result()
#: processes
import multiprocessing
WORK
for _ in range(4):
    multiprocessing.Process(target=work).start()
#: no variable of TensorFlow
class Plan:
    def assign(self, value):
        self.value = value
plan = Plan()
def work():
    now = plan.value
    now += 1
    plan.assign(now)
START
"""
