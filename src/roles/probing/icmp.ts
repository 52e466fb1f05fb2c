/**
 * Sockets for echo requests. If the system lets this process ping (`ping_group_range`), Node reads a datagram socket. Otherwise, with
 * CAP_NET_RAW, it is a raw socket, which only a thread of libuv can read; it reads while answers are awaited.
 */
import { createSocket } from 'node:dgram';
import { read, writeSync } from 'node:fs';
import { parseIP } from '../../base/ip.js';
import { Linux, type Syscalls, SystemError } from '../../server/syscalls.js';

export interface IcmpSocket {
  /** Throws an error with a system error code, or passes it to `failed`, when the message cannot be sent. */
  send(address: string, message: Uint8Array, failed: (error: Error) => void): void;
  /** Sets whether answers are awaited. */
  await(isAwaited: boolean): void;
}

/** Receives ICMP messages of any sender, beginning with the ICMP header. */
type Hear = (message: Uint8Array) => void;

/** Undefined: this process may not ping. */
export function openIcmp(calls: Syscalls, length: 4 | 16, hear: Hear): IcmpSocket | undefined {
  const fd = open(calls, length, Linux.SOCK_DGRAM);
  if (fd >= 0) return fromDatagrams(fd, length, hear);
  const [heard, sent] = [openRaw(calls, length, [ECHO_REPLY[length]]), openRaw(calls, length, [])];
  if (heard >= 0 && sent >= 0) return fromRaw(calls, { heard, sent }, length, hear);
  for (const one of [heard, sent]) if (one >= 0) calls.close(one);
  return undefined;
}

function open(calls: Syscalls, length: 4 | 16, type: number): number {
  const [family, protocol] =
    length === 4 ? [Linux.AF_INET, Linux.IPPROTO_ICMP] : [Linux.AF_INET6, Linux.IPPROTO_ICMPV6];
  return calls.socket(family, type | Linux.SOCK_CLOEXEC, protocol);
}

/** Types of ICMP messages (RFC 792, RFC 4443 §4.2). */
const ECHO_REPLY = { 4: 0, 16: 129 } as const;

/**
 * A raw socket that receives messages of these types alone (raw(7), RFC 3542 §3.2): otherwise the kernel copies all messages that the machine
 * receives into its buffer, where they push out those that are awaited. -1: this process may not have one.
 */
function openRaw(calls: Syscalls, length: 4 | 16, types: readonly number[]): number {
  const fd = open(calls, length, Linux.SOCK_RAW);
  if (fd < 0) return fd;
  // Bits of types that are left out.
  const filter = new Uint32Array(length === 4 ? 1 : 8).fill(0xffffffff);
  for (const type of types) filter[type >> 5]! &= ~(1 << (type & 31));
  const [level, name] = length === 4 ? [Linux.SOL_RAW, Linux.ICMP_FILTER] : [Linux.IPPROTO_ICMPV6, Linux.ICMPV6_FILTER];
  if (calls.setsockopt(fd, level, name, calls.addressOf(filter.buffer), filter.byteLength) >= 0) return fd;
  calls.close(fd);
  return -1;
}

/** The kernel sets checksums and identifiers, and gives each socket only its own answers. */
function fromDatagrams(fd: number, length: 4 | 16, hear: Hear): IcmpSocket {
  const socket = createSocket(length === 4 ? 'udp4' : 'udp6');
  socket.on('message', hear);
  // The error is about a message that did not arrive, and its probe times out.
  socket.on('error', () => {});
  socket.bind({ fd, exclusive: true });
  socket.unref();
  return {
    // The port has no meaning.
    send: (address, message, failed) => socket.send(message, 1, address, (error) => error && failed(error)),
    await: (isAwaited) => void (isAwaited ? socket.ref() : socket.unref()),
  };
}

/** The longest time that a thread waits for a message after none is awaited any more. */
const WAIT_MS = 250;
/** Our messages are smaller; longer ones may be cut off. */
const MOST_OCTETS = 2048;

interface RawPair {
  readonly heard: number;
  /** It is connected to one target after the other. */
  readonly sent: number;
}

function fromRaw(calls: Syscalls, { heard, sent }: RawPair, length: 4 | 16, hear: Hear): IcmpSocket {
  const interval = new ArrayBuffer(16);
  new BigInt64Array(interval).set([0n, BigInt(WAIT_MS * 1000)]);
  calls.setsockopt(heard, Linux.SOL_SOCKET, Linux.SO_RCVTIMEO, calls.addressOf(interval), 16);
  const octets = Buffer.alloc(MOST_OCTETS);
  let [isAwaited, isReading] = [false, false];
  const next = (): void => {
    isReading = isAwaited;
    if (!isReading) return;
    read(heard, octets, 0, MOST_OCTETS, null, (error, count) => {
      // After a timeout, the thread reads again.
      if (!error) hear(octets.subarray(length === 4 ? headerOctets(octets) : 0, count));
      next();
    });
  };
  return {
    send(address, message) {
      connectTo(calls, sent, address);
      writeSync(sent, message);
    },
    await(wanted) {
      isAwaited = wanted;
      if (wanted && !isReading) next();
    },
  };
}

/** A raw IPv4 socket receives the IP header, too (RFC 791 §3.1); a raw IPv6 socket does not (RFC 3542 §3). */
function headerOctets(packet: Uint8Array): number {
  return (packet[0]! & 15) * 4;
}

const SOCKADDR_IN = 16;
const SOCKADDR_IN6 = 28;

function connectTo(calls: Syscalls, fd: number, address: string): void {
  const octets = parseIP(address)!;
  const isShort = octets.length === 4;
  const memory = new ArrayBuffer(isShort ? SOCKADDR_IN : SOCKADDR_IN6);
  new Uint16Array(memory)[0] = isShort ? Linux.AF_INET : Linux.AF_INET6;
  new Uint8Array(memory).set(octets, isShort ? 4 : 8);
  if (calls.connect(fd, calls.addressOf(memory), memory.byteLength) < 0) {
    throw new SystemError('connect', calls.errno());
  }
}
