/**
 * UDP sockets opened by system calls, because node:dgram can neither share a port between threads nor report the
 * destination address of a datagram.
 */
import { parseIPv4, parseIPv6 } from '../base/ip.js';
import type { DeferredDatagram } from './deferred.js';
import { ListenError, listenErrorOf } from './listen-error.js';
import { Linux, type Syscalls, SystemError } from './syscalls.js';

export interface DatagramSocketOptions {
  /** A literal address. */
  readonly host: string;
  /** 0 lets the system choose. */
  readonly port: number;
  /** On `::` only: also accept IPv4, as mapped addresses. */
  readonly dualStack: boolean;
  /** Whether other sockets may bind the same address and port and share the datagrams. */
  readonly shared: boolean;
  /** Requested kernel queue in octets, each way. */
  readonly queueOctets: number;
  /** Blocking calls return after this many milliseconds. */
  readonly timeoutMs: number;
}

export interface DatagramSocket {
  readonly fd: number;
  readonly port: number;
  /** The size that the kernel granted. It includes kernel overhead, so a full grant is twice the request. */
  readonly receiveQueueOctets: number;
}

const SOCKADDR_IN = 16;
const SOCKADDR_IN6 = 28;

/** Opens and binds a socket. Throws a {@link ListenError} and leaves nothing open. */
export function openDatagramSocket(calls: Syscalls, options: DatagramSocketOptions): DatagramSocket {
  const listen = { protocol: 'UDP', host: options.host, port: options.port } as const;
  const v4 = parseIPv4(options.host);
  const address = v4 ?? parseIPv6(options.host);
  if (!address) throw new ListenError('EINVAL', listen, new Error(`'${options.host}' is not an IP address`));
  const family = v4 ? Linux.AF_INET : Linux.AF_INET6;
  const fd = calls.socket(family, Linux.SOCK_DGRAM | Linux.SOCK_CLOEXEC, 0);
  if (fd < 0) throw listenErrorOf(new SystemError('socket', calls.errno()), listen);
  try {
    const wildcard = address.every((octet) => octet === 0);
    setOptions(calls, fd, { ...options, v6: !v4, wildcard });
    const port = bindAddress(calls, fd, family, address, options.port);
    return { fd, port, receiveQueueOctets: getInt(calls, fd, Linux.SO_RCVBUF) };
  } catch (error) {
    calls.close(fd);
    throw listenErrorOf(error, listen);
  }
}

/**
 * Datagrams that the kernel dropped because the queue of this socket was full; undefined where the kernel does not
 * report it.
 */
export function countQueueDrops(calls: Syscalls, fd: number): number | undefined {
  const DROPS = 8;
  const memory = new ArrayBuffer(64);
  const value = new Uint32Array(memory);
  value[15] = 36;
  const at = calls.addressOf(memory);
  if (calls.getsockopt(fd, Linux.SOL_SOCKET, Linux.SO_MEMINFO, at, at + 60) !== 0) return undefined;
  return value[15]! >= 36 ? value[DROPS] : undefined;
}

function setOptions(
  calls: Syscalls,
  fd: number,
  options: DatagramSocketOptions & { readonly v6: boolean; readonly wildcard: boolean },
): void {
  const { v6, dualStack, wildcard } = options;
  if (options.shared) setInt(calls, fd, Linux.SOL_SOCKET, Linux.SO_REUSEPORT, 1);
  if (v6) setInt(calls, fd, Linux.SOL_IPV6, Linux.IPV6_V6ONLY, dualStack ? 0 : 1);
  if (wildcard && v6) setInt(calls, fd, Linux.SOL_IPV6, Linux.IPV6_RECVPKTINFO, 1);
  if (wildcard && !v6) setInt(calls, fd, Linux.SOL_IP, Linux.IP_PKTINFO, 1);
  setTimeval(calls, fd, Linux.SO_RCVTIMEO, options.timeoutMs);
  setTimeval(calls, fd, Linux.SO_SNDTIMEO, options.timeoutMs);
  // Path MTU messages are easily forged and answers are small, so the kernel must ignore them. Kernels without this
  // option also work.
  if (v6) trySetInt(calls, fd, Linux.SOL_IPV6, Linux.IPV6_MTU_DISCOVER, Linux.IPV6_PMTUDISC_OMIT);
  if (!v6 || dualStack) trySetInt(calls, fd, Linux.SOL_IP, Linux.IP_MTU_DISCOVER, Linux.IP_PMTUDISC_OMIT);
  // Exceeding the system's limit requires CAP_NET_ADMIN; otherwise the kernel grants up to the limit.
  if (!trySetInt(calls, fd, Linux.SOL_SOCKET, Linux.SO_RCVBUFFORCE, options.queueOctets)) {
    trySetInt(calls, fd, Linux.SOL_SOCKET, Linux.SO_RCVBUF, options.queueOctets);
  }
  if (!trySetInt(calls, fd, Linux.SOL_SOCKET, Linux.SO_SNDBUFFORCE, options.queueOctets)) {
    trySetInt(calls, fd, Linux.SOL_SOCKET, Linux.SO_SNDBUF, options.queueOctets);
  }
}

/** Whether the kernel divides a message into datagrams. One that does not would send it as a single datagram. */
export function dividesMessages(calls: Pick<Syscalls, 'setsockopt' | 'addressOf'>, fd: number): boolean {
  return trySetInt(calls, fd, Linux.SOL_UDP, Linux.UDP_SEGMENT, 0);
}

/**
 * Keeps new datagrams away from a socket that shares its port; those in its queue can still be received and answered. A
 * connected socket only receives from its peer, and the kernel gives what others send to the sockets that are not
 * connected. Returns false when the kernel refuses.
 */
export function stopReceiving({ connect, addressOf }: ConnectCalls, fd: number): boolean {
  const memory = new ArrayBuffer(64);
  const view = new DataView(memory);
  const at = addressOf(memory);
  for (const [family, length, loopback] of [
    [Linux.AF_INET6, SOCKADDR_IN6, [...new Uint8Array(15), 1]],
    [Linux.AF_INET, SOCKADDR_IN, [127, 0, 0, 1]],
  ] as const) {
    view.setUint16(0, family, true);
    view.setUint16(2, DISCARD_PORT);
    new Uint8Array(memory).set(loopback, family === Linux.AF_INET ? 4 : 8);
    if (connect(fd, at, length) === 0) return true;
    new Uint8Array(memory).fill(0);
  }
  return false;
}

/** Nobody sends from this port (RFC 863). */
const DISCARD_PORT = 9;

type ConnectCalls = Pick<Syscalls, 'connect' | 'addressOf'>;

/** Binds and returns the port, which the system chooses if it was 0. */
function bindAddress(calls: Syscalls, fd: number, family: number, address: Uint8Array, port: number): number {
  const memory = new ArrayBuffer(64);
  const view = new DataView(memory);
  const at = calls.addressOf(memory);
  const length = family === Linux.AF_INET ? SOCKADDR_IN : SOCKADDR_IN6;
  view.setUint16(0, family, true);
  view.setUint16(2, port);
  new Uint8Array(memory).set(address, family === Linux.AF_INET ? 4 : 8);
  if (calls.bind(fd, at, length) !== 0) throw new SystemError('bind', calls.errno());
  view.setUint32(32, length, true);
  if (calls.getsockname(fd, at, at + 32) !== 0) throw new SystemError('getsockname', calls.errno());
  return view.getUint16(2);
}

function setInt(calls: Syscalls, fd: number, level: number, option: number, value: number): void {
  if (!trySetInt(calls, fd, level, option, value)) throw new SystemError('setsockopt', calls.errno());
}

function trySetInt(
  calls: Pick<Syscalls, 'setsockopt' | 'addressOf'>,
  fd: number,
  level: number,
  option: number,
  value: number,
): boolean {
  const memory = new ArrayBuffer(64);
  new Int32Array(memory)[0] = value;
  return calls.setsockopt(fd, level, option, calls.addressOf(memory), 4) === 0;
}

/** `option` takes a struct timeval: seconds and microseconds, 64 bits each. */
function setTimeval(calls: Syscalls, fd: number, option: number, ms: number): void {
  const memory = new ArrayBuffer(64);
  const value = new BigInt64Array(memory);
  value[0] = BigInt(Math.floor(ms / 1000));
  value[1] = BigInt((ms % 1000) * 1000);
  if (calls.setsockopt(fd, Linux.SOL_SOCKET, option, calls.addressOf(memory), 16) !== 0) {
    throw new SystemError('setsockopt', calls.errno());
  }
}

function getInt(calls: Syscalls, fd: number, option: number): number {
  const memory = new ArrayBuffer(64);
  const value = new Int32Array(memory);
  value[8] = 4;
  const at = calls.addressOf(memory);
  if (calls.getsockopt(fd, Linux.SOL_SOCKET, option, at, at + 32) !== 0) {
    throw new SystemError('getsockopt', calls.errno());
  }
  return value[0]!;
}

/** Offsets in octets: the header (struct mmsghdr, see datagram-batch.ts), I/O vector, address, control data, packet. */
const SendAt = { vector: 64, address: 80, control: 112, packet: 176 } as const;

/**
 * Sends one answer on a socket of a worker, from the main thread. Whether the kernel took it; a full queue drops it, and the
 * client asks again.
 */
export function sendDatagram(
  calls: Syscalls,
  fd: number,
  { address, control }: Pick<DeferredDatagram, 'address' | 'control'>,
  answer: Uint8Array,
): boolean {
  const memory = new ArrayBuffer(SendAt.packet + answer.length);
  const base = calls.addressOf(memory);
  const bytes = new Uint8Array(memory);
  const words = new BigUint64Array(memory, 0, 22);
  bytes.set(address, SendAt.address);
  bytes.set(control, SendAt.control);
  bytes.set(answer, SendAt.packet);
  words[0] = BigInt(base + SendAt.address);
  words[1] = BigInt(address.length);
  words[2] = BigInt(base + SendAt.vector);
  words[3] = 1n;
  words[4] = BigInt(base + SendAt.control);
  words[5] = BigInt(control.length);
  words[8] = BigInt(base + SendAt.packet);
  words[9] = BigInt(answer.length);
  return calls.sendmmsg(fd, base, 1, Linux.MSG_DONTWAIT) === 1;
}
