/**
 * A thread that answers queries of network interfaces without the sockets of the system: the frames of its queues come and go in
 * memory that it shares with the kernel.
 *
 * A frame goes round: the kernel fills it (fill, receive), the thread answers it in place (transmit), and it comes back when it was sent
 * (completion). One without an answer goes back at once.
 */
import { constants } from 'node:os';
import { receiveMessageOnPort } from 'node:worker_threads';
import { createClient, DEFERRED } from '../../answer/transport.js';
import { SystemClock } from '../../base/clock.js';
import { invariant } from '../../base/errors.js';
import { clientNetwork, printIP } from '../../base/ip.js';
import { comeFirst, threadTimeUs } from '../../base/process/scheduling.js';
import { Count, countLatency, isLookedAt, isTimed } from '../counters.js';
import { createPoll, Linux, loadSyscalls } from '../syscalls.js';
import { DeferredPlaces } from '../turns/deferred-places.js';
import { Control, type DeferredAnswer, type QueuePlace, RECEIVE_TIMEOUT_MS, STOP } from '../udp-protocol.js';
import { beginWorker } from '../worker-thread.js';
import {
  ANSWER_AT,
  addHeaders,
  answerFrame,
  FRAME,
  messageAt,
  messageLength,
  readClient,
  roomFor,
  withoutRecords,
} from './frame.js';
import { FRAMES } from './queue.js';
import {
  AddressStep,
  DescriptorStep,
  nextEntry,
  openRing,
  publishPut,
  publishTaken,
  type Ring,
  untaken,
  waiting,
} from './ring.js';

/** Requests that are answered before the answers are sent. */
const BATCH = 64;
/** Answers of others that a thread waits for, each in a frame. */
const MOST_HELD = 1000;
const LONGEST_HELD_MS = 5000;
/** While something waits that does not wake the thread up. */
const SHORT_WAIT_MS = 1;
/** Calls that move answers on: the kernel takes 32 at a time when it copies them. */
const MOST_KICKS = FRAMES / 32 + 1;

const { EAGAIN } = constants.errno;

interface Queue {
  readonly fd: number;
  readonly bytes: Uint8Array;
  readonly fill: Ring;
  readonly completion: Ring;
  readonly receive: Ring;
  readonly transmit: Ring;
  /** Word 0: the MTU. */
  readonly facts: Int32Array;
}

/** A request that another part answers, and its frame. */
interface Held {
  readonly queue: Queue;
  readonly at: number;
  readonly untilMs: number;
}

const calls = await loadSyscalls();
const lookAtShare = comeFirst(calls, threadTimeUs());
const { data, engine, answer, counts, parent, tell } = await beginWorker();
const { places } = data;
invariant('queues' in places, 'a thread for interfaces has their queues');
const control = new Int32Array(data.control);
const deferred = new DeferredPlaces(data.deferred);
const clock = new SystemClock();
const client = createClient();
const queues = places.queues.map(openPlace);
const held = new Map<number, Held>();
let tickets = 0;

const poll = createPoll(
  calls,
  queues.map(({ fd }) => fd),
);

for (const queue of queues) offerAll(queue);
tell({ kind: 'serving' });
while (Atomics.load(control, Control.stop) === 0) {
  if (!serveAll()) poll.wait(isHurried() ? SHORT_WAIT_MS : RECEIVE_TIMEOUT_MS);
  if (engine.isStale()) engine.refresh(data.port);
  if (held.size > 0) answerHeld();
}
// What came before the program was taken away.
for (let batches = FRAMES / BATCH; batches > 0 && serveAll(); batches--);
data.port.close();
parent.close();

function openPlace({ fd, frames, rings, facts }: QueuePlace): Queue {
  const ring = (place: QueuePlace['rings']['fill'], step: number): Ring => openRing(calls, place, FRAMES, step);
  return {
    ...{ fd, bytes: new Uint8Array(calls.viewOf(frames, FRAMES * FRAME)), facts: new Int32Array(facts) },
    ...{ fill: ring(rings.fill, AddressStep), completion: ring(rings.completion, AddressStep) },
    ...{ receive: ring(rings.receive, DescriptorStep), transmit: ring(rings.transmit, DescriptorStep) },
  };
}

function offerAll({ fill }: Queue): void {
  for (let frame = 0; frame < FRAMES; frame++) fill.words[nextEntry(fill)] = frame * FRAME;
  publishPut(fill);
}

/** Serves each queue once. Returns whether anything came. */
function serveAll(): boolean {
  let came = 0;
  for (let i = 0; i < queues.length; i++) came += serve(queues[i]!);
  return came > 0;
}

function isHurried(): boolean {
  if (held.size > 0) return true;
  for (let i = 0; i < queues.length; i++) if (untaken(queues[i]!.transmit) > 0) return true;
  return false;
}

/** Returns the number of frames received. */
function serve(queue: Queue): number {
  takeBack(queue);
  const came = Math.min(waiting(queue.receive), BATCH);
  if (came > 0) answerFrames(queue, came);
  if (untaken(queue.transmit) > 0) send(queue);
  return came;
}

/** Frames that were sent can be filled again. */
function takeBack({ completion, fill }: Queue): void {
  const count = waiting(completion);
  if (count === 0) return;
  for (let i = 0; i < count; i++) {
    const at = completion.words[nextEntry(completion)]!;
    fill.words[nextEntry(fill)] = at - (at % FRAME);
  }
  publishTaken(completion);
  publishPut(fill);
}

function answerFrames(queue: Queue, came: number): void {
  const { receive, fill, transmit, bytes, facts } = queue;
  const startUs = isTimed(counts) ? clock.steadyUs() : 0;
  const mtu = Atomics.load(facts, 0);
  client.source = bytes;
  client.own = bytes;
  client.seconds = Math.floor(clock.nowMs() / 1000);
  counts[Count.batch]! += 1;
  for (let i = 0; i < came; i++) {
    const at = receive.words[nextEntry(receive)]!;
    const frame = at - (at % FRAME);
    readClient(client, bytes, at);
    const written = answerFrame(bytes, frame, at, answer, client, mtu);
    if (written > 0) transmitFrame(transmit, frame, written);
    else if (written !== DEFERRED || !hold(queue, at)) fill.words[nextEntry(fill)] = frame;
  }
  publishTaken(receive);
  publishPut(fill);
  publishPut(transmit);
  if (startUs !== 0) countLatency(counts, clock.steadyUs() - startUs);
  if (isLookedAt(counts)) lookAtShare(clock.steadyUs());
}

function transmitFrame(transmit: Ring, frame: number, length: number): void {
  const word = nextEntry(transmit);
  transmit.words[word] = frame + ANSWER_AT;
  transmit.words[word + 1] = 0;
  transmit.words[word + 2] = length;
  transmit.words[word + 3] = 0;
}

/** Tells the kernel that answers wait. What it does not take now it takes the next time. */
function send({ fd, transmit }: Queue): void {
  for (let kick = 0; kick < MOST_KICKS && untaken(transmit) > 0; kick++) {
    if (calls.sendto(fd, 0, 0, Linux.MSG_DONTWAIT, 0, 0) < 0 && calls.errno() !== EAGAIN) return;
  }
}

/** Hands a query to the main thread; its frame stays until the answer is there. False: too many wait. */
function hold(queue: Queue, at: number): boolean {
  if (held.size >= MOST_HELD) return false;
  const { bytes } = queue;
  const address = printIP(bytes.slice(client.at, client.at + client.length));
  const place = deferred.enter(clientNetwork(address));
  if (place === undefined) return false;
  tickets = (tickets + 1) % Number.MAX_SAFE_INTEGER;
  held.set(tickets, { queue, at, untilMs: clock.steadyUs() / 1000 + LONGEST_HELD_MS });
  const message = messageAt(bytes, at);
  const request = bytes.slice(message, message + messageLength(bytes, at));
  tell({ kind: 'deferred-portable', request, from: { socket: tickets, address, port: client.port }, place });
  return true;
}

function answerHeld(): void {
  for (let next = receiveMessageOnPort(parent); next; next = receiveMessageOnPort(parent)) {
    const message = next.message as typeof STOP | DeferredAnswer;
    if (message !== STOP) sendHeld(message);
  }
  const nowMs = clock.steadyUs() / 1000;
  for (const [ticket, { queue, at, untilMs }] of held) {
    if (untilMs > nowMs) break;
    held.delete(ticket);
    giveBack(queue, at);
  }
}

function sendHeld({ answer: octets, to }: DeferredAnswer): void {
  const waitingOne = held.get(to.socket);
  if (!waitingOne) return;
  held.delete(to.socket);
  const { queue, at } = waitingOne;
  if (!octets) {
    giveBack(queue, at);
    return;
  }
  const { bytes, transmit, facts } = queue;
  const frame = at - (at % FRAME);
  const fitting = octets.length <= roomFor(bytes, at, Atomics.load(facts, 0)) ? octets : withoutRecords(octets);
  bytes.set(fitting, frame + ANSWER_AT + messageAt(bytes, at) - at);
  transmitFrame(transmit, frame, addHeaders(bytes, frame, at, fitting.length));
  publishPut(transmit);
  send(queue);
}

function giveBack({ fill }: Queue, at: number): void {
  fill.words[nextEntry(fill)] = at - (at % FRAME);
  publishPut(fill);
}
