// Peers of the scaler door in plain Python with pyzmq. They were written only from the dialect's
// document, facts about its wire and captured messages, and share no code with our own ends. A peer
// that receives something invalid prints ERROR and exits.

const start = String.raw`
import hashlib, json, os, pickle, struct, sys, time, zmq

def give_up(kind, error, trace):
    print("ERROR", kind.__name__, error)
    os._exit(1)
sys.excepthook = give_up

def connect(address, identity):
    peer = zmq.Context.instance().socket(zmq.DEALER)
    peer.setsockopt(zmq.IDENTITY, identity)
    peer.setsockopt(zmq.SNDHWM, 0)
    peer.setsockopt(zmq.RCVHWM, 0)
    peer.connect("tcp://" + address)
    return peer

def md5(text):
    return hashlib.md5(text).digest()

def loop(peer, receive, command, tick):
    """Messages to receive, lines of stdin to command, and a tick ten times a second."""
    poller = zmq.Poller()
    poller.register(peer, zmq.POLLIN)
    poller.register(0, zmq.POLLIN)
    typed = b""
    while True:
        for readable, _ in poller.poll(100):
            if readable == 0:
                read = os.read(0, 65536)
                if not read:
                    poller.unregister(0)
                *lines, typed = (typed + read).split(b"\n")
                for line in lines:
                    command(line.decode())
            else:
                receive(*peer.recv_multipart())
        tick()
`;

/**
 * Replays the captured messages frame by frame, as `client` or `worker`, the latter with a
 * heartbeat layout. Both ends make up the parts that the capture lacks (bodies of functions and
 * arguments, results of the graph's nodes) in the same way.
 */
export const replay = `${start}
address, vectors, role, layout = sys.argv[1:]
with open(vectors) as file:
    vectors = [vector for vector in json.load(file) if vector["form"] == "r"]

def captured(name, nth=0):
    found = [vector for vector in vectors if vector["name"] == name][nth]
    return [bytes.fromhex(frame) for frame in found["frames"]]

def packed(beat):
    _, agent, *processors = beat
    processors = [struct.pack("<I???HQ", *struct.unpack("I???HQ", one)) for one in processors]
    return [b"HB", struct.pack("<HQQHI?", *struct.unpack("HQQHI?", agent))] + processors

def created(ids):
    names = [b"<obj " + one.hex()[:6].encode() + b">" for one in ids]
    return [struct.pack("III", len(ids), len(ids), len(ids))] + ids + names + [b"body of " + one for one in ids]

def expect(wanted):
    if not peer.poll(20000):
        raise TimeoutError("waiting for %r" % wanted)
    got = peer.recv_multipart()
    assert got == wanted, "got %r instead of %r" % (got, wanted)

def identity(end):
    return next(vector for vector in vectors if vector["from"] == end)["identity"].encode()

own, source = identity(role), identity("client")
task = captured("TK client")
function, argument = task[4], task[6]
serializer = captured("OI client")
graph = captured("GT client")
first, second, third = graph[7:13], graph[14:22], graph[23:31]
bodies = [first[3], second[3], third[3], first[5]]
result = {node[0]: md5(source)[:8] + md5(node[0]) for node in (first, second, third)}
resolved = third[:4] + [b"R", result[third[5]], b"R", result[third[7]]]
profile = struct.pack("!fQ", 0.25, 4096)

def outcome(node):
    return [b"TR", node, b"S", profile, result[node]]

def be_client():
    peer.send_multipart(captured("CB client"))
    expect(captured("CE scheduler to client"))
    peer.send_multipart(serializer)
    peer.send_multipart(captured("CB client"))
    expect(captured("CE scheduler to client"))
    peer.send_multipart([b"OI", b"C", source] + created([function, argument]))
    peer.send_multipart(task)
    expect(captured("TR scheduler to client"))
    peer.send_multipart(captured("OR client"))
    expect(captured("OA scheduler to client"))
    print("one task")
    peer.send_multipart([b"OI", b"C", source] + created(bodies))
    peer.send_multipart(graph)
    expect(outcome(first[0]))
    expect(outcome(third[0]))
    expect(captured("TR scheduler to client", 1))
    for node in graph[4:6]:
        peer.send_multipart([b"OR", b"A", result[node]])
        expect([b"OA", b"C"] + created([result[node]]))
    print("graph")
    peer.send_multipart(captured("TC client"))
    expect([b"TR", captured("TC client")[1], b"N", b""])
    print("nothing to cancel")
    peer.send_multipart(captured("CS client"))
    peer.send_multipart(captured("OI client", 1))
    print("left")
    time.sleep(60)

def beat(nth):
    if layout == "processors":
        nth = 1
    message = captured("HB worker", nth)
    peer.send_multipart(packed(message) if layout == "packed" else message)
    expect(captured("HE scheduler to worker"))

gone = set()

def deleted(wanted):
    """Deletions may come in any batches, and for what else the client had."""
    while not gone.issuperset(wanted):
        if not peer.poll(20000):
            raise TimeoutError("of %r only %r were deleted" % (wanted, gone))
        kind, instruction, worker, counts, *ids = peer.recv_multipart()
        assert [kind, instruction, worker] == captured("OI scheduler to worker")[:3], (kind, instruction, worker)
        assert struct.unpack("III", counts) == (len(ids), 0, 0), counts
        gone.update(ids)

def run(node):
    expect([b"TK"] + node)
    peer.send_multipart([b"OI", b"C", source] + created([result[node[0]]]))

def be_worker():
    beat(0)
    print("registered")
    expect(captured("TK scheduler to worker"))
    beat(1)
    peer.send_multipart(captured("OR worker"))
    answer = created([function, argument])
    ids, names, contents = answer[1:3], answer[3:5], answer[5:7]
    threefold = [struct.pack("III", 3, 3, 3)] + [serializer[4]] + ids + [serializer[5]] + names + [serializer[6]] + contents
    expect([b"OA", b"C"] + threefold)
    peer.send_multipart(captured("OI worker"))
    peer.send_multipart(captured("TR worker"))
    print("one task")
    run(first)
    assert ([b"TK"] + second) == captured("TK scheduler to worker", 1)
    run(second)
    peer.send_multipart(outcome(first[0]))
    peer.send_multipart(outcome(second[0]))
    run(resolved)
    peer.send_multipart(outcome(third[0]))
    deleted([result[second[0]]])
    print("graph")
    deleted([function, argument, serializer[4], captured("OI worker")[4], *bodies, result[first[0]], result[third[0]]])
    print("deleted")
    expect(captured("CS scheduler to worker"))
    peer.send_multipart(captured("DR worker"))
    expect([b"DP", own])
    print("left")
    time.sleep(60)

peer = connect(address, own)
be_client() if role == "client" else be_worker()
`;

/**
 * A worker written from the document alone. Its heartbeats, and the counts of objects, are
 * `native`, `packed`, or `split` into one frame per field. Functions are `upper`, `fail`, and
 * `hold`, which runs until stdin says `go`.
 */
export const documentWorker = `${start}
address, layout, name = sys.argv[1:]
name = name.encode()
tasks = []       # not begun: (task_id, source, function id, argument ids)
objects = {}
asked = set()
held = None
registered = False
beaten = 0

def send(*frames):
    peer.send_multipart(list(frames))

def heartbeat():
    values = (10, 1 << 25, 5, 1 << 20, 1 << 33, len(tasks), 300, True, held is not None, False)
    if layout == "native":
        return [struct.pack("HQHQQHI???", *values)]
    if layout == "packed":
        return [struct.pack("=HQHQQHI???", *values)]
    return [struct.pack(kind, value) for kind, value in zip("HQHQQHI???", values)]

def counts(*numbers):
    return [struct.pack("I", number) for number in numbers] if layout == "split" else [struct.pack("III", *numbers)]

def take_counts(frames):
    if layout == "split":
        numbers, rest = [struct.unpack("I", frame)[0] for frame in frames[:3]], frames[3:]
    else:
        numbers, rest = struct.unpack("III", frames[0]), frames[1:]
    assert sum(numbers) == len(rest), "counts %r of %d frames" % (numbers, len(rest))
    return numbers, rest

def finish(task, status, content):
    result = md5(task[0] + name)
    send(b"OI", task[1], b"C", *counts(1, 1, 1), result, b"<res>", content)
    send(b"TR", task[0], status, result, b"")

def work():
    """The first task, as soon as nothing else is held and what it needs is there."""
    global held
    while tasks and held is None:
        task_id, source, function, arguments = tasks[0]
        needed = [one for one in [md5(source + b"serializer"), function, *arguments] if one not in objects]
        if needed:
            if task_id not in asked:
                asked.add(task_id)
                send(b"OR", b"A", *needed)
            return
        task = tasks.pop(0)
        words = b" ".join(objects[one] for one in arguments)
        print(objects[function].decode(), words.decode())
        if objects[function] == b"hold":
            held = task
        elif objects[function] == b"upper":
            finish(task, b"S", words.upper())
        else:
            finish(task, b"F", b"it was told to")

def receive(kind, *frames):
    global held, registered
    if kind == b"HE":
        assert frames == (b"",), frames
        if not registered:
            print("registered")
        registered = True
    elif kind == b"TK":
        task_id, source, metadata, function, *arguments = frames
        assert set(arguments[::2]) <= {b"R"}, arguments
        tasks.append((task_id, source, function, arguments[1::2]))
    elif kind == b"OA":
        found, frames = frames[0], frames[1:]
        (ids, names, contents), rest = take_counts(frames)
        if found == b"C":
            assert ids == names == contents, (ids, names, contents)
            objects.update(zip(rest[:ids], rest[ids + names:]))
        else:
            assert (found, names, contents) == (b"N", 0, 0), frames
            print("not found", ids)
            finish(tasks.pop(0), b"F", b"an object is not there")
    elif kind == b"OI":
        worker, instruction, *rest = frames
        assert (worker, instruction) == (name, b"D"), frames
        (ids, names, contents), rest = take_counts(rest)
        gone = [one for one in rest if objects.pop(one, None) is not None]
        if gone:
            print("deleted", len(gone))
    elif kind == b"TC":
        (task_id,) = frames
        if held and held[0] == task_id:
            held = None
        tasks[:] = [task for task in tasks if task[0] != task_id]
        print("cancelled")
        send(b"TR", task_id, b"C", b"", b"")
    elif kind == b"BQ":
        (number,) = struct.unpack("I", *frames)
        given = tasks[-number:]
        del tasks[-number:]
        print("gave", len(given))
        send(b"BR", *[task[0] for task in given])
    elif kind == b"CS":
        assert frames == (b"S",), frames
        print("shut down")
        send(b"DR", name)
    elif kind == b"DP":
        assert frames == (name,), frames
        print("left")
    else:
        raise ValueError("%r is not in the document" % kind)
    work()

def command(line):
    global held
    if line == "go":
        finish(held, b"S", b"held")
        held = None
        work()
    elif line == "leave":
        send(b"DR", name)

def tick():
    global beaten
    if time.monotonic() - beaten > 0.5:
        send(b"HB", *heartbeat())
        beaten = time.monotonic()

peer = connect(address, name)
loop(peer, receive, command, tick)
`;

/**
 * A worker like the original program's, form R. It fails where the real one would hang, and cancels
 * like the real one. Functions as above. `layout` is `native`, `processors` (listed from its first
 * heartbeat on) or `packed`.
 */
export const programWorker = `${start}
address, layout, name = sys.argv[1:]
name = name.encode()
tasks = []
objects = {}
asked = None     # the ids of the one object request on its way
held = None
beaten = 0
echoed = 0
sent = 0

def send(*frames):
    peer.send_multipart(list(frames))

def heartbeat():
    order = "=" if layout == "packed" else ""
    frames = [struct.pack(order + "HQQHI?", 10, 1 << 25, 1 << 33, len(tasks), 300, False)]
    if sent > 0 or layout == "processors":
        frames.append(struct.pack(order + "I???HQ", os.getpid(), True, held is not None, False, 5, 1 << 20))
    return frames

def finish(task, status, content):
    result = md5(task[1])[:8] + md5(task[0] + name)
    send(b"OI", b"C", task[1], struct.pack("III", 1, 1, 1), result, b"<res>", content)
    send(b"TR", task[0], status, struct.pack("!fQ", 0.5, 1024), result)

def work():
    global held, asked
    while tasks and held is None and asked is None:
        task_id, source, function, arguments = tasks[0]
        needed = [one for one in [md5(source)[:8] + md5(b"serializer"), function, *arguments] if one not in objects]
        if needed:
            asked = needed
            send(b"OR", b"A", *needed)
            return
        task = tasks.pop(0)
        words = b" ".join(objects[one] for one in arguments)
        print(objects[function].decode(), words.decode())
        if objects[function] == b"hold":
            held = task
        elif objects[function] == b"upper":
            finish(task, b"S", words.upper())
        else:
            finish(task, b"F", b"it was told to")

def receive(kind, *frames):
    global asked, held, echoed
    if kind == b"HE":
        assert frames == (b"",), frames
        echoed += 1
        if echoed == 1:
            print("registered")
    elif kind == b"TK":
        task_id, source, metadata, function, *arguments = frames
        assert len(metadata) in (0, 5), metadata
        assert set(arguments[::2]) <= {b"R"}, arguments
        tasks.append((task_id, source, function, arguments[1::2]))
    elif kind == b"OA":
        found, numbers, *rest = frames
        ids, names, contents = struct.unpack("III", numbers)
        assert found == b"C", found
        assert rest[:ids] == asked, "%r were asked for, %r came" % (asked, rest[:ids])
        assert names == contents and len(rest) == ids + names + contents, (ids, names, contents, len(rest))
        objects.update(zip(rest[:names], rest[ids + names:]))
        missing, asked = ids - names, None
        if missing:
            print("not found", missing)
            finish(tasks.pop(0), b"F", b"an object is not there")
    elif kind == b"OI":
        instruction, worker, numbers, *ids = frames
        assert (instruction, worker) == (b"D", name), frames
        assert struct.unpack("III", numbers) == (len(ids), 0, 0), numbers
        gone = [one for one in ids if objects.pop(one, None) is not None]
        if gone:
            print("deleted", len(gone))
    elif kind == b"TC":
        task_id, flags = frames
        force, retrieve = struct.unpack("??", flags)
        cancel(task_id, force)
    elif kind == b"CS":
        assert frames == (b"S",), frames
        print("shut down")
        send(b"DR", name)
    elif kind == b"DP":
        assert frames == (name,), frames
        print("left")
    else:
        raise ValueError("%r is not for a worker" % kind)
    work()

def cancel(task_id, force):
    global held
    queued = [task for task in tasks if task[0] == task_id]
    if queued and not (tasks[0][0] == task_id and asked):
        tasks.remove(queued[0])
        print("gave up" if not force else "cancelled")
        send(b"TR", task_id, b"C", b"")
    elif held and held[0] == task_id:
        if force:
            held = None
            print("killed")
            send(b"TR", task_id, b"C", b"")
    elif force:
        send(b"TR", task_id, b"N", b"")

def command(line):
    global held
    if line == "go":
        finish(held, b"S", b"held")
        held = None
        work()
    elif line == "leave":
        send(b"DR", name)

def tick():
    global beaten, sent
    if sent > echoed:
        assert time.monotonic() - beaten < 5, "a heartbeat was not echoed"
    elif time.monotonic() - beaten > 0.5:
        send(b"HB", *heartbeat())
        sent += 1
        beaten = time.monotonic()

peer = connect(address, name)
loop(peer, receive, command, tick)
`;

/**
 * A client, always form R. It reads one JSON array per line: `["submit", task, function,
 * argument…]`, `["cancel", task]`, `["graph", name, [target…], [node, function, argument…]…]` where
 * an argument `"<node"` is that node's result, `["forget", text…]`, `["leave"]`, `["shutdown"]`. It
 * prints the outcome of each task with the words of its result.
 */
export const client = String.raw`${start}
address, name = sys.argv[1:]
name = name.encode()
labels = {}      # task id: what it is called
wanted = {}      # result id: (task id, status)
graphs = set()
beaten = 0
sent = 0
echoed = 0

def send(*frames):
    peer.send_multipart(list(frames))

def known(label):
    identifier = md5(label.encode() + name)
    labels[identifier] = label
    return identifier

def object_id(text):
    return md5(name)[:8] + md5(text.encode())

def create(texts):
    texts = list(dict.fromkeys(texts))
    if texts:
        number = len(texts)
        ids, bodies = [object_id(text) for text in texts], [text.encode() for text in texts]
        send(b"OI", b"C", name, struct.pack("III", number, number, number), *ids, *[b"<obj>"] * number, *bodies)

def task(label, function, arguments):
    frames = [known(label), name, struct.pack("!?i", False, 0), object_id(function)]
    for argument in arguments:
        frames += [b"T", known(argument[1:])] if argument.startswith("<") else [b"R", object_id(argument)]
    return frames

def command(line):
    what, *rest = json.loads(line)
    if what == "submit":
        label, function, *arguments = rest
        # What begins with a question mark is never created.
        create([text for text in [function, *arguments] if not text.startswith("?")])
        send(b"TK", *task(label, function, arguments))
    elif what == "cancel":
        send(b"TC", known(rest[0]), b"\x00\x00")
    elif what == "graph":
        label, targets, *nodes = rest
        create([text for node in nodes for text in node[1:] if not text.startswith("<")])
        graphs.add(known(label))
        frames = [known(label), name, struct.pack("I", len(targets)), *map(known, targets)]
        for node in nodes:
            payload = task(node[0], node[1], node[2:])
            frames += [struct.pack("I", len(payload)), *payload]
        send(b"GT", *frames)
    elif what == "forget":
        send(b"OI", b"D", name, struct.pack("III", len(rest), 0, 0), *map(object_id, rest))
    elif what == "leave":
        send(b"CS", b"D")
    elif what == "shutdown":
        send(b"CS", b"S")

def words(content):
    if content[:3] == b"\x80\x02c":
        return repr(pickle.loads(content))
    return content.decode()

def receive(kind, *frames):
    global echoed
    if kind == b"CE":
        assert frames == (b"",), frames
        echoed += 1
        if echoed == 1:
            print("connected")
    elif kind == b"TR":
        task_id, status, metadata, *results = frames
        assert len(metadata) in (0, 12), metadata
        assert task_id in labels, task_id
        if task_id in graphs:
            assert len(results) == (1 if status == b"F" else 0), (status, results)
        else:
            assert len(results) == (1 if status in (b"S", b"F") else 0), (status, results)
        if results:
            wanted[results[0]] = (task_id, status)
            send(b"OR", b"A", *results)
        else:
            print(labels[task_id], status.decode())
    elif kind == b"OA":
        found, numbers, *rest = frames
        assert found == b"C", found
        assert struct.unpack("III", numbers) == (1, 1, 1), numbers
        task_id, status = wanted.pop(rest[0])
        print(labels[task_id], status.decode(), words(rest[2]))
    elif kind == b"CR":
        (allowed,) = struct.unpack("?", *frames)
        print("shutdown", allowed)
    else:
        raise ValueError("%r is not for a client" % kind)

def tick():
    global beaten, sent
    if sent > echoed:
        assert time.monotonic() - beaten < 5, "a heartbeat was not echoed"
    elif time.monotonic() - beaten > 0.5:
        send(b"CB", struct.pack("HQI", 5, 1 << 25, 200))
        sent += 1
        beaten = time.monotonic()

peer = connect(address, name)
send(b"CB", struct.pack("HQI", 5, 1 << 25, 0))
sent += 1
beaten = time.monotonic()
# One serializer, as the program stores it: a worker of the document asks for another id.
send(b"OI", b"C", name, struct.pack("III", 1, 1, 1), md5(name)[:8] + md5(b"serializer"), b"serializer", b"utf-8")
loop(peer, receive, command, tick)
`;
