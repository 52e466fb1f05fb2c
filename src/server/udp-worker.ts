/**
 * A UDP worker thread: it receives a batch, answers it, sends it, and repeats.
 *
 * An idle thread blocks in a system call, so its event loop never runs once the loop below has begun. It learns about
 * new data from the engine's shared memory and about shutdown from a word of the control memory; it checks both once
 * for each batch. With one socket the receiving call itself blocks; with several, or when nothing came for a while, poll()
 * comes first, which also ends when the thread is to stop: so an idle thread need not wake up to look.
 */
import { SystemClock } from '../base/clock.js';
import { invariant } from '../base/errors.js';
import { clientNetwork } from '../base/ip.js';
import { comeFirst, threadTimeUs } from '../base/process/scheduling.js';
import { Count, countLatency, isLookedAt, isTimed } from './counters.js';
import { answerBatch, copyDeferred, createDatagramBatch, receiveBatch, sendBatch } from './datagram-batch.js';
import { dividesMessages, stopReceiving } from './datagram-socket.js';
import { senderOf } from './deferred.js';
import { createPoll, Linux, loadSyscalls, type Poll } from './syscalls.js';
import { DeferredPlaces } from './turns/deferred-places.js';
import { Control, RECEIVE_TIMEOUT_MS, REST_MS } from './udp-protocol.js';
import { beginWorker } from './worker-thread.js';

/** Batches that are still answered after the stop request, so that received queries are not lost. */
const LAST_BATCHES = 16;

/** Waits that are short after a change, because more changes may follow, and each leaves data that is not used any more. */
const SHORT_RESTS = 25;
let shortRests = 0;

const calls = await loadSyscalls();
const lookAtShare = comeFirst(calls, threadTimeUs());
const { data, engine, answer, counts, parent, tell } = await beginWorker();
const { places } = data;
invariant('descriptors' in places, 'a batched worker has open sockets');
const { descriptors, wake } = places;
const control = new Int32Array(data.control);
const deferred = new DeferredPlaces(data.deferred);
const clock = new SystemClock();
const batch = createDatagramBatch(calls.addressOf);
batch.divides = descriptors.every((fd) => dividesMessages(calls, fd));

tell({ kind: 'serving' });
if (descriptors.length === 1) serveOne(descriptors[0]!);
else serveSeveral(descriptors);
// An open port would keep the thread alive.
data.port.close();
parent.close();

function serveOne(fd: number): void {
  const poll = createPoll(calls, [fd, wake]);
  let flags: number = Linux.MSG_WAITFORONE;
  while (Atomics.load(control, Control.stop) === 0) {
    // After a wait without queries, the thread only releases stale data.
    flags = answerFrom(fd, flags) === 0 && rest(poll) <= 0 ? Linux.MSG_DONTWAIT : Linux.MSG_WAITFORONE;
  }
  answerLast(fd);
}

function serveSeveral(descriptors: readonly number[]): void {
  const poll = createPoll(calls, [...descriptors, wake]);
  while (Atomics.load(control, Control.stop) === 0) {
    if (rest(poll) <= 0) {
      releaseUnused();
      continue;
    }
    for (let index = 0; index < descriptors.length; index++) {
      if (poll.ready(index)) answerFrom(descriptors[index]!, Linux.MSG_DONTWAIT);
    }
  }
  for (const fd of descriptors) answerLast(fd);
}

/** Answers what has been received. Another process may already share the port, and takes what comes from now on. */
function answerLast(fd: number): void {
  stopReceiving(calls, fd);
  for (let last = 0; last < LAST_BATCHES && answerFrom(fd, Linux.MSG_DONTWAIT) > 0; last++);
}

/** Serves one socket once; returns the number of datagrams received. */
function answerFrom(fd: number, flags: number): number {
  const received = receiveBatch(batch, calls, fd, flags, counts);
  releaseUnused();
  if (received === 0) return 0;
  const startUs = isTimed(counts) ? clock.steadyUs() : 0;
  const ready = answerBatch(batch, received, answer, counts, Math.floor(clock.nowMs() / 1000), engine.lookAhead);
  if (ready > 0) sendBatch(batch, calls, fd, ready, counts);
  if (batch.deferrals > 0) deferQueries(fd);
  if (startUs !== 0) countLatency(counts, clock.steadyUs() - startUs);
  if (isLookedAt(counts)) lookAtShare(clock.steadyUs());
  return received;
}

/** Also called without queries: what the thread still refers to stays in memory. */
function releaseUnused(): void {
  if (!engine.isStale()) return;
  engine.refresh(data.port);
  shortRests = SHORT_RESTS;
}

/** Hands queries to the main thread; too many at once are dropped. */
function deferQueries(fd: number): void {
  for (let index = 0; index < batch.deferrals; index++) {
    const datagram = copyDeferred(batch, index);
    const place = deferred.enter(clientNetwork(senderOf(datagram).address));
    if (place === undefined) counts[Count.silent]! += 1;
    else tell({ kind: 'deferred', fd, datagram, place });
  }
}

/** Waits for queries; returns what {@link Poll.wait} does. */
function rest(poll: Poll): number {
  const restMs = shortRests > 0 ? RECEIVE_TIMEOUT_MS : REST_MS;
  shortRests = Math.max(0, shortRests - 1);
  return poll.wait(restMs);
}
