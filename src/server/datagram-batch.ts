/**
 * Receives up to 64 datagrams with one system call, answers them in place, and sends the answers with another.
 *
 * One ArrayBuffer holds what the kernel reads and writes: message headers, I/O vectors, peer addresses, control data
 * and packets. Its address is taken once and all pointers inside are written once, so that a round allocates nothing.
 *
 * struct mmsghdr (64 octets, glibc and musl on x86-64 and arm64)
 *     0 name pointer    8 name length    16 iovec pointer   24 iovec count
 *    32 control pointer 40 control length 48 flags          56 octets received or sent
 *
 * Slot i receives into request i. Answers lie one after the other without gaps, so that few pages are touched. Each
 * message to send has a header of its own, which points at the address and control data of a slot, and at one answer or
 * several: consecutive ones to the same peer that have the same length, and a shorter one after them, go out as one
 * message, which the kernel divides again after most of its work (UDP_SEGMENT, Linux 4.18). The peer gets the same
 * datagrams in the same order. Forwarders ask from few ports; resolvers that take a new port for each question get their
 * answers one by one.
 *
 * Control data comes only on sockets bound to a wildcard: IP_PKTINFO or IPV6_PKTINFO, the address the query was sent
 * to. The same octets are handed back with the answer and become its source address.
 */
// hot
import { constants } from 'node:os';
import { type Answer, type Client, DEFERRED, type LookAhead, Transport } from '../answer/transport.js';
import { isMappedIPv4 } from '../base/ip.js';
import { Count, type CountBlock } from './counters.js';
import type { DeferredDatagram } from './deferred.js';
import { type DatagramCalls, Linux, SystemError } from './syscalls.js';

/** Datagrams per system call. */
export const BATCH = 64;
/** The longest accepted request in octets; longer datagrams are not queries and are dropped. */
export const REQUEST_ROOM = 4096;
/** Longest answer over UDP, octets. */
export const RESPONSE_ROOM = 4096;

const HEADER = 64;
const IOVEC = 16;
const ADDRESS = 32;
const CONTROL = 64;
/** Buffer sizes for the kernel: sockaddr_in6, and one IPV6_PKTINFO. */
const ADDRESS_ROOM = 28;
const CONTROL_ROOM = 40;
/** Octets of a control message with the length of the datagrams in a message. */
const SEGMENT_CONTROL = 24;
/** Requests start in different cache sets; otherwise their 64 first lines would share a few. */
const REQUEST = REQUEST_ROOM + 64;

/** The longest answer that is sent together with others: it fits every IPv6 link (RFC 8200 §5). */
const LONGEST_JOINED = 1232;
/** Octets of one message, which is one IP packet on most of its path. */
const LONGEST_MESSAGE = 65_000;
/** Batches that are sent one by one after the kernel refused a message with several answers. */
const BATCHES_APART = 1000;

const RECEIVE_HEADERS = 0;
const SEND_HEADERS = RECEIVE_HEADERS + BATCH * HEADER;
const RECEIVE_IOVECS = SEND_HEADERS + BATCH * HEADER;
const SEND_IOVECS = RECEIVE_IOVECS + BATCH * IOVEC;
const ADDRESSES = SEND_IOVECS + BATCH * IOVEC;
const CONTROLS = ADDRESSES + BATCH * ADDRESS;
const REQUESTS = CONTROLS + BATCH * CONTROL;
const ANSWERS = REQUESTS + BATCH * REQUEST;
const SIZE = ANSWERS + BATCH * RESPONSE_ROOM;

/** Positions in 32-bit words, inside a header, an iovec and a control message. */
const NAME = 0;
const NAME_LENGTH = 2;
const VECTOR = 4;
const VECTOR_COUNT = 6;
const CONTROL_POINTER = 8;
const CONTROL_LENGTH = 10;
const FLAGS = 12;
const OCTETS = 14;
const HEADER_WORDS = HEADER / 4;
const VECTOR_LENGTH = 2;
const IOVEC_WORDS = IOVEC / 4;
const CONTROL_LEVEL = 2;
const CONTROL_TYPE = 3;
const CONTROL_DATA = 4;

const { EAGAIN, EBADF, ECONNREFUSED, EFAULT, EINTR, EINVAL, ENOTSOCK } = constants.errno;

export interface DatagramBatch {
  readonly words: Int32Array;
  readonly bytes: Uint8Array;
  readonly view: DataView;
  /** Address of the memory. */
  readonly base: number;
  /** The slot to which each send header points. */
  readonly slots: Int32Array;
  /** For each message to send: its answers, the octets of the first of them, and those of the last. */
  readonly members: Int32Array;
  readonly sizes: Int32Array;
  readonly lasts: Int32Array;
  /** Whether the kernel divides messages. */
  divides: boolean;
  /** Batches in which no answers are joined. */
  apart: number;
  /** The sender of the current datagram. */
  readonly client: Client;
  /** Number of headers that the kernel has written since they were last reset. */
  used: number;
  /** The slots whose queries another part answers, and their number. */
  readonly deferred: Int32Array;
  deferrals: number;
}

/** Lays out the memory of a batch. `addressOf` returns the address of an ArrayBuffer's storage. */
export function createDatagramBatch(addressOf: (buffer: ArrayBuffer) => number): DatagramBatch {
  const memory = new ArrayBuffer(SIZE);
  const base = addressOf(memory);
  const words = new Int32Array(memory);
  const slots = new Int32Array(BATCH);
  for (let slot = 0; slot < BATCH; slot++) {
    const receive = (RECEIVE_HEADERS + slot * HEADER) / 4;
    const vector = (RECEIVE_IOVECS + slot * IOVEC) / 4;
    writePointer(words, receive + NAME, base + ADDRESSES + slot * ADDRESS);
    writePointer(words, receive + VECTOR, base + RECEIVE_IOVECS + slot * IOVEC);
    writePointer(words, receive + CONTROL_POINTER, base + CONTROLS + slot * CONTROL);
    words[receive + VECTOR_COUNT] = 1;
    writePointer(words, vector, base + REQUESTS + slot * REQUEST);
    words[vector + VECTOR_LENGTH] = REQUEST_ROOM;
    const send = (SEND_HEADERS + slot * HEADER) / 4;
    writePointer(words, send + VECTOR, base + SEND_IOVECS + slot * IOVEC);
    words[send + VECTOR_COUNT] = 1;
    slots[slot] = -1;
  }
  const bytes = new Uint8Array(memory);
  const client = { source: bytes, at: 0, length: 0, port: 0, own: bytes, ownAt: 0, ownLength: 0, seconds: 0 };
  return {
    ...{ words, bytes, view: new DataView(memory), base, slots, client, divides: false, apart: 0 },
    ...{ members: new Int32Array(BATCH).fill(1), sizes: new Int32Array(BATCH), lasts: new Int32Array(BATCH) },
    ...{ used: BATCH, deferred: new Int32Array(BATCH), deferrals: 0 },
  };
}

/**
 * Receives up to {@link BATCH} datagrams; returns their number. 0 when nothing came within the socket's receive
 * timeout, or when the kernel reported a temporary error (counted). Throws a SystemError when the socket itself is
 * broken.
 */
export function receiveBatch(
  batch: DatagramBatch,
  calls: DatagramCalls,
  fd: number,
  flags: number,
  counts: CountBlock,
): number {
  const { words } = batch;
  let header = RECEIVE_HEADERS / 4;
  for (let slot = 0; slot < batch.used; slot++, header += HEADER_WORDS) {
    words[header + NAME_LENGTH] = ADDRESS_ROOM;
    words[header + CONTROL_LENGTH] = CONTROL_ROOM;
  }
  batch.used = 1;
  const received = calls.recvmmsg(fd, batch.base + RECEIVE_HEADERS, BATCH, flags, 0);
  if (received >= 0) {
    if (received > 0) counts[Count.batch]! += 1;
    return (batch.used = received);
  }
  const errno = calls.errno();
  if (errno === EAGAIN || errno === EINTR) return 0;
  if (errno === EBADF || errno === ENOTSOCK || errno === EFAULT || errno === EINVAL) {
    throw new SystemError('recvmmsg', errno);
  }
  counts[Count.receiveFailed]! += 1;
  return 0;
}

/**
 * Answers the first `received` requests, which arrived at `seconds` since 1970; returns the number of messages to send. `lookAhead` reads
 * what they will need.
 */
export function answerBatch(
  batch: DatagramBatch,
  received: number,
  answer: Answer,
  counts: CountBlock,
  seconds: number,
  lookAhead?: LookAhead,
): number {
  const { words, bytes, client } = batch;
  if (lookAhead !== undefined) lookAhead(batch.view, REQUESTS, REQUEST, received);
  client.seconds = seconds;
  batch.deferrals = 0;
  const mayJoin = batch.divides && batch.apart === 0;
  if (batch.apart > 0) batch.apart -= 1;
  let messages = 0;
  let at = ANSWERS;
  for (let slot = 0; slot < received; slot++) {
    const header = RECEIVE_HEADERS / 4 + slot * HEADER_WORDS;
    const address = ADDRESSES + slot * ADDRESS;
    const portless = bytes[address + 2] === 0 && bytes[address + 3] === 0;
    if (portless || (words[header + FLAGS]! & Linux.MSG_TRUNC) !== 0) {
      counts[Count.discarded]! += 1;
      continue;
    }
    const request = REQUESTS + slot * REQUEST;
    const length = words[header + OCTETS]!;
    // sockaddr_in and sockaddr_in6: the family is in machine byte order, the address comes after the port.
    const isV4 = bytes[address] === Linux.AF_INET;
    // A dual-stack socket reports IPv4 addresses as `::ffff:0:0/96`; limits and cookies use the IPv4 address itself.
    const isMapped = !isV4 && isMappedIPv4(bytes, address + 8);
    client.at = address + (isV4 ? 4 : isMapped ? 20 : 8);
    client.length = isV4 || isMapped ? 4 : 16;
    client.port = (bytes[address + 2]! << 8) | bytes[address + 3]!;
    // IP_PKTINFO has the interface and the address; IPV6_PKTINFO begins with the address, which may be a mapped one.
    client.ownAt = CONTROLS + slot * CONTROL + CONTROL_DATA * 4 + (isV4 ? 4 : isMapped ? 12 : 0);
    client.ownLength = words[header + CONTROL_LENGTH] === 0 ? 0 : client.length;
    const written = answer(bytes, request, length, bytes, at, RESPONSE_ROOM, Transport.udp, client);
    if (written === 0) continue;
    if (written === DEFERRED) {
      batch.deferred[batch.deferrals++] = slot;
      continue;
    }
    const control = sourceControl(batch, slot, words[header + CONTROL_LENGTH]!);
    const joins = mayJoin && messages > 0 && belongsTo(batch, messages - 1, slot, written);
    if (joins) join(batch, messages - 1, written, control);
    else begin(batch, messages++, slot, at, written, control);
    at += written;
  }
  return messages;
}

/** Makes one answer, which stands at `at`, the next message; `control`: octets of its control data. */
function begin(
  batch: DatagramBatch,
  message: number,
  slot: number,
  at: number,
  written: number,
  control: number,
): void {
  const { words } = batch;
  if (batch.slots[message] !== slot) pointAt(batch, message, slot);
  const send = SEND_HEADERS / 4 + message * HEADER_WORDS;
  words[send + NAME_LENGTH] = words[RECEIVE_HEADERS / 4 + slot * HEADER_WORDS + NAME_LENGTH]!;
  words[send + CONTROL_LENGTH] = control;
  const vector = SEND_IOVECS / 4 + message * IOVEC_WORDS;
  writePointer(words, vector, batch.base + at);
  words[vector + VECTOR_LENGTH] = written;
  batch.members[message] = 1;
  batch.sizes[message] = written;
  batch.lasts[message] = written;
}

/** Whether an answer of `written` octets to the sender in `slot` can go out with the last message. */
function belongsTo(batch: DatagramBatch, message: number, slot: number, written: number): boolean {
  const { words, sizes, lasts } = batch;
  const size = sizes[message]!;
  // Only the last datagram of a message may be shorter than the others.
  if (written > size || lasts[message] !== size || size > LONGEST_JOINED) return false;
  if (words[SEND_IOVECS / 4 + message * IOVEC_WORDS + VECTOR_LENGTH]! + written > LONGEST_MESSAGE) return false;
  return isSamePeer(words, batch.slots[message]!, slot);
}

/** Whether requests have the same sender and destination. */
function isSamePeer(words: Int32Array, slot: number, other: number): boolean {
  const header = RECEIVE_HEADERS / 4 + slot * HEADER_WORDS;
  const otherHeader = RECEIVE_HEADERS / 4 + other * HEADER_WORDS;
  const length = words[header + NAME_LENGTH]!;
  const control = words[header + CONTROL_LENGTH]!;
  if (length !== words[otherHeader + NAME_LENGTH] || control !== words[otherHeader + CONTROL_LENGTH]) return false;
  return (
    isSame(words, ADDRESSES + slot * ADDRESS, ADDRESSES + other * ADDRESS, length) &&
    isSame(words, CONTROLS + slot * CONTROL, CONTROLS + other * CONTROL, control)
  );
}

function isSame(words: Int32Array, at: number, other: number, octets: number): boolean {
  for (let i = 0; i < octets; i += 4) if (words[(at + i) >> 2] !== words[(other + i) >> 2]) return false;
  return true;
}

/** Adds an answer, which follows the message in memory, to it; `control`: octets of its control data without the length of datagrams. */
function join(batch: DatagramBatch, message: number, written: number, control: number): void {
  const { words, members, sizes } = batch;
  if (members[message] === 1) {
    const added = (CONTROLS + batch.slots[message]! * CONTROL + control) / 4;
    words[added] = CONTROL_DATA * 4 + 2;
    words[added + 1] = 0;
    words[added + CONTROL_LEVEL] = Linux.SOL_UDP;
    words[added + CONTROL_TYPE] = Linux.UDP_SEGMENT;
    words[added + CONTROL_DATA] = sizes[message]!;
    words[SEND_HEADERS / 4 + message * HEADER_WORDS + CONTROL_LENGTH] = control + SEGMENT_CONTROL;
  }
  members[message]! += 1;
  batch.lasts[message] = written;
  words[SEND_IOVECS / 4 + message * IOVEC_WORDS + VECTOR_LENGTH]! += written;
}

/**
 * Sends the first `ready` messages. An answer that the kernel refuses is counted and skipped; the rest is still sent.
 * When the send queue is full, the other answers are dropped: clients retry, and waiting requests matter more.
 */
export function sendBatch(
  batch: DatagramBatch,
  calls: DatagramCalls,
  fd: number,
  ready: number,
  counts: CountBlock,
): void {
  let sent = 0;
  let retried = false;
  while (sent < ready) {
    const done = calls.sendmmsg(fd, batch.base + SEND_HEADERS + sent * HEADER, ready - sent, 0);
    if (done > 0) {
      sent += done;
      retried = false;
      continue;
    }
    const errno = calls.errno();
    if (errno === EBADF || errno === ENOTSOCK || errno === EFAULT) throw new SystemError('sendmmsg', errno);
    if (errno === EAGAIN) {
      for (; sent < ready; sent++) counts[Count.sendFailed]! += batch.members[sent]!;
      return;
    }
    // An interrupted call, or an ICMP error of an earlier datagram, says nothing about this one: retry it once.
    if ((errno === EINTR || errno === ECONNREFUSED) && !retried) {
      retried = true;
      continue;
    }
    if (batch.members[sent]! > 1) sendApart(batch, calls, fd, sent, counts);
    else counts[Count.sendFailed]! += 1;
    sent += 1;
    retried = false;
  }
}

/**
 * Sends the answers of a message one by one: the network card cannot compute the checksums of the divided datagrams, or one of
 * them is too long for the path.
 */
function sendApart(batch: DatagramBatch, calls: DatagramCalls, fd: number, message: number, counts: CountBlock): void {
  const { words } = batch;
  batch.apart = BATCHES_APART;
  const header = SEND_HEADERS / 4 + message * HEADER_WORDS;
  const vector = SEND_IOVECS / 4 + message * IOVEC_WORDS;
  const size = batch.sizes[message]!;
  let at = words[vector + 1]! * 0x100000000 + (words[vector]! >>> 0);
  words[header + CONTROL_LENGTH]! -= SEGMENT_CONTROL;
  for (let left = words[vector + VECTOR_LENGTH]!; left > 0; left -= size, at += size) {
    writePointer(words, vector, at);
    words[vector + VECTOR_LENGTH] = Math.min(size, left);
    if (calls.sendmmsg(fd, batch.base + SEND_HEADERS + message * HEADER, 1, 0) !== 1) counts[Count.sendFailed]! += 1;
  }
}

/** Copies deferred query `index` of the batch. */
export function copyDeferred(batch: DatagramBatch, index: number): DeferredDatagram {
  const { words, bytes } = batch;
  const slot = batch.deferred[index]!;
  const header = RECEIVE_HEADERS / 4 + slot * HEADER_WORDS;
  const address = ADDRESSES + slot * ADDRESS;
  const request = REQUESTS + slot * REQUEST;
  const control = CONTROLS + slot * CONTROL;
  const controlLength = sourceControl(batch, slot, words[header + CONTROL_LENGTH]!);
  return {
    request: bytes.slice(request, request + words[header + OCTETS]!),
    address: bytes.slice(address, address + words[header + NAME_LENGTH]!),
    control: bytes.slice(control, control + controlLength),
  };
}

/** Points send header `index` at the address and control data of `slot`. */
function pointAt(batch: DatagramBatch, index: number, slot: number): void {
  const { words, base } = batch;
  const send = SEND_HEADERS / 4 + index * HEADER_WORDS;
  writePointer(words, send + NAME, base + ADDRESSES + slot * ADDRESS);
  writePointer(words, send + CONTROL_POINTER, base + CONTROLS + slot * CONTROL);
  batch.slots[index] = slot;
}

/** Turns the control data of a request into that of its answer; returns its length in octets. */
function sourceControl(batch: DatagramBatch, slot: number, length: number): number {
  if (length === 0) return 0;
  const { words, bytes } = batch;
  const control = CONTROLS + slot * CONTROL;
  const word = control / 4;
  const level = words[word + CONTROL_LEVEL];
  const type = words[word + CONTROL_TYPE];
  // The address is returned but not the interface: routing chooses it, as for any other answer.
  if (level === Linux.SOL_IP && type === Linux.IP_PKTINFO) {
    words[word + CONTROL_DATA] = 0;
    return length;
  }
  if (level === Linux.SOL_IPV6 && type === Linux.IPV6_PKTINFO) {
    const first = control + CONTROL_DATA * 4;
    // A link-local address has no meaning without its interface (RFC 4007 §6).
    const linkLocal = bytes[first] === 0xfe && (bytes[first + 1]! & 0xc0) === 0x80;
    if (!linkLocal) words[word + CONTROL_DATA + 4] = 0;
    return length;
  }
  return 0;
}

function writePointer(words: Int32Array, at: number, address: number): void {
  words[at] = address | 0;
  words[at + 1] = Math.floor(address / 0x100000000);
}
