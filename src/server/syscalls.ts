/**
 * The Linux system calls that Node does not offer, through koffi; this file is its only user.
 *
 * Pointers are passed as plain numbers, because addresses in user space are below 2^48. The memory they point to is
 * always an ArrayBuffer that the caller keeps alive; V8 does not move the storage of an ArrayBuffer.
 */
import { arch, endianness, platform } from 'node:os';
import { getSystemErrorName } from 'node:util';
import { messageOf } from '../base/errors.js';
import type { SchedulingCalls } from '../base/process/scheduling.js';

/** Values of <sys/socket.h> and related headers; the same on x86-64 and arm64, with glibc and musl. */
export const Linux = {
  AF_INET: 2,
  AF_INET6: 10,
  SOCK_DGRAM: 2,
  SOCK_RAW: 3,
  SOCK_CLOEXEC: 0o2000000,
  EFD_CLOEXEC: 0o2000000,
  SOL_IP: 0,
  SOL_SOCKET: 1,
  IPPROTO_ICMP: 1,
  IPPROTO_ICMPV6: 58,
  SOL_RAW: 255,
  ICMP_FILTER: 1,
  ICMPV6_FILTER: 1,
  SOL_TCP: 6,
  SOL_UDP: 17,
  SOL_IPV6: 41,
  SO_SNDBUF: 7,
  SO_RCVBUF: 8,
  SO_REUSEPORT: 15,
  SO_RCVTIMEO: 20,
  SO_SNDTIMEO: 21,
  SO_SNDBUFFORCE: 32,
  SO_RCVBUFFORCE: 33,
  SO_MEMINFO: 55,
  IP_PKTINFO: 8,
  IP_MTU_DISCOVER: 10,
  IP_PMTUDISC_OMIT: 5,
  IPV6_MTU_DISCOVER: 23,
  IPV6_V6ONLY: 26,
  IPV6_RECVPKTINFO: 49,
  IPV6_PKTINFO: 50,
  IPV6_PMTUDISC_OMIT: 5,
  UDP_SEGMENT: 103,
  TCP_INFO: 11,
  MSG_TRUNC: 0x20,
  MSG_DONTWAIT: 0x40,
  MSG_WAITFORONE: 0x10000,
  POLLIN: 1,
  AF_XDP: 44,
  SOL_XDP: 283,
  PROT_READ_WRITE: 3,
  MAP_SHARED: 1,
  MAP_ANONYMOUS: 0x20,
  MAP_POPULATE: 0x8000,
  MADV_HUGEPAGE: 14,
} as const;

/** Numbers of system calls that the C library does not wrap. */
const NUMBERS = {
  x64: { bpf: 321, schedSetattr: 314, schedGetattr: 315 },
  arm64: { bpf: 280, schedSetattr: 274, schedGetattr: 275 },
} as const;

/** System calls for datagrams, which workers need. All return -1 on failure; `errno()` has the reason. */
export interface DatagramCalls {
  recvmmsg(fd: number, vector: number, count: number, flags: number, timeout: number): number;
  sendmmsg(fd: number, vector: number, count: number, flags: number): number;
  poll(descriptors: number, count: number, timeoutMs: number): number;
  connect(fd: number, address: number, length: number): number;
  errno(): number;
}

export interface Syscalls extends DatagramCalls, SchedulingCalls {
  addressOf(buffer: ArrayBuffer | SharedArrayBuffer): number;
  socket(domain: number, type: number, protocol: number): number;
  bind(fd: number, address: number, length: number): number;
  getsockname(fd: number, address: number, length: number): number;
  setsockopt(fd: number, level: number, option: number, value: number, length: number): number;
  getsockopt(fd: number, level: number, option: number, value: number, length: number): number;
  close(fd: number): number;
  eventfd(value: number, flags: number): number;
  write(fd: number, octets: number, length: number): number;
  sendto(fd: number, octets: number, length: number, flags: number, address: number, addressLength: number): number;
  /** The address of the mapping; a number above 2^48 on failure. */
  mmap(address: number, length: number, protection: number, flags: number, fd: number, offset: number): number;
  munmap(address: number, length: number): number;
  madvise(address: number, length: number, advice: number): number;
  bpf(command: number, attributes: number, length: number): number;
  /** Memory that this process has mapped. It must not be used when it is mapped no more. */
  viewOf(address: number, length: number): ArrayBuffer;
}

/** A system call failed; `code` is the name of `errno`, such as EADDRINUSE. */
export class SystemError extends Error {
  readonly code: string;

  constructor(
    readonly syscall: string,
    readonly errno: number,
  ) {
    const code = getSystemErrorName(-errno);
    super(`${syscall} failed with ${code}`);
    this.name = 'SystemError';
    this.code = code;
  }
}

/** The reason why this machine cannot use batched system calls. */
export class SyscallsUnavailable extends Error {
  constructor(reason: string) {
    super(reason);
    this.name = 'SyscallsUnavailable';
  }
}

/**
 * Binds the calls to the C library of this process. Rejects with {@link SyscallsUnavailable} outside 64-bit
 * little-endian Linux, and where koffi has no binary.
 */
export async function loadSyscalls(): Promise<Syscalls> {
  if (platform() !== 'linux')
    throw new SyscallsUnavailable(`batched system calls need Linux, but this is ${platform()}`);
  if (!['x64', 'arm64'].includes(arch()) || endianness() !== 'LE') {
    throw new SyscallsUnavailable(`the message layout is not known for ${arch()}`);
  }
  try {
    const { default: koffi } = await import('koffi');
    const libc = koffi.load(null);
    const syscall = libc.func('long syscall(long, long, uintptr_t, long, long)');
    const numbers = NUMBERS[arch() as keyof typeof NUMBERS];
    const mmap = libc.func('uintptr_t mmap(uintptr_t, unsigned long, int, int, int, int64_t)');
    return {
      socket: libc.func('int socket(int, int, int)'),
      bind: libc.func('int bind(int, uintptr_t, uint32_t)'),
      getsockname: libc.func('int getsockname(int, uintptr_t, uintptr_t)'),
      setsockopt: libc.func('int setsockopt(int, int, int, uintptr_t, uint32_t)'),
      getsockopt: libc.func('int getsockopt(int, int, int, uintptr_t, uintptr_t)'),
      close: libc.func('int close(int)'),
      eventfd: libc.func('int eventfd(uint32_t, int)'),
      write: libc.func('long write(int, uintptr_t, unsigned long)'),
      recvmmsg: libc.func('int recvmmsg(int, uintptr_t, uint32_t, int, uintptr_t)'),
      sendmmsg: libc.func('int sendmmsg(int, uintptr_t, uint32_t, int)'),
      connect: libc.func('int connect(int, uintptr_t, uint32_t)'),
      poll: libc.func('int poll(uintptr_t, unsigned long, int)'),
      sendto: libc.func('long sendto(int, uintptr_t, unsigned long, int, uintptr_t, uint32_t)'),
      mmap: (...mapping) => Number(mmap(...mapping)),
      munmap: libc.func('int munmap(uintptr_t, unsigned long)'),
      madvise: libc.func('int madvise(uintptr_t, unsigned long, int)'),
      bpf: (command, attributes, length) => Number(syscall(numbers.bpf, command, attributes, length, 0)),
      schedGetattr: (thread, attributes, length, flags) =>
        Number(syscall(numbers.schedGetattr, thread, attributes, length, flags)),
      schedSetattr: (thread, attributes, flags) => Number(syscall(numbers.schedSetattr, thread, attributes, flags, 0)),
      viewOf: (address, length) => koffi.view(BigInt(address), length),
      errno: koffi.errno,
      addressOf: (buffer) => Number(koffi.address(buffer)),
    };
  } catch (error) {
    throw new SyscallsUnavailable(`koffi cannot be used: ${messageOf(error)}`);
  }
}

/** Waiting for several descriptors at once. */
export interface Poll {
  /** Waits until one of them is ready; returns how many are, 0 after that time, and less on an error. */
  wait(limitMs: number): number;
  /** Whether the last wait found it ready, by its place in the list. */
  ready(index: number): boolean;
}

/**
 * The kernel writes to them in each wait, and an address alone keeps no memory: what a loop does not use otherwise is collected while
 * the loop runs. Each thread makes one, once.
 */
const kept: ArrayBuffer[] = [];

/** Of struct pollfd, { int fd; short events, revents }. */
export function createPoll(
  { poll, addressOf }: Pick<DatagramCalls, 'poll'> & { addressOf(buffer: ArrayBuffer): number },
  descriptors: readonly number[],
): Poll {
  const memory = new ArrayBuffer(Math.max(64, descriptors.length * 8));
  kept.push(memory);
  const words = new Int32Array(memory);
  const shorts = new Int16Array(memory);
  const address = addressOf(memory);
  for (const [index, fd] of descriptors.entries()) {
    words[index * 2] = fd;
    shorts[index * 4 + 2] = Linux.POLLIN;
  }
  return {
    wait: (limitMs) => poll(address, descriptors.length, limitMs),
    ready: (index) => shorts[index * 4 + 3] !== 0,
  };
}
