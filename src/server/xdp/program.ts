/**
 * The program that the kernel runs for each frame of an interface. A plain query for us goes to the socket of its queue; everything
 * else goes on its ordinary way: other protocols and ports, fragments, IP options and extension headers, VLANs, what is not as long
 * as it says, and senders that nobody can answer. Pure.
 */
import { Assembler, type Register } from './assembler.js';

export interface ProgramOptions {
  /** 4 or 16 octets each. */
  readonly addresses: readonly Uint8Array[];
  readonly port: number;
  /** The map from numbers of queues to sockets. */
  readonly map: number;
}

/** Longer frames stay with the kernel. They leave room for the answer in the frame of the request. */
const LONGEST_FRAME = 1536;
/** Of Ethernet, IPv4 without options, IPv6, and UDP. */
export const Octets = { ethernet: 14, ipv4: 20, ipv6: 40, udp: 8 } as const;

const [CONTEXT, DATA, END, A, B, LENGTH] = [6, 2, 3, 4, 5, 7] as const satisfies Register[];
const PASS = 2;
const REDIRECT_MAP = 51;
const UDP = 17;
/** A header of DNS. */
const SHORTEST_MESSAGE = 12;
const PASSING = 'pass';
const OURS = 'ours';

export function queryProgram({ addresses, port, map }: ProgramOptions): Uint8Array {
  const code = new Assembler();
  if (addresses.length === 0) {
    // The kernel refuses a program with a part that nothing leads to.
    code.set(0, PASS);
    code.exit();
    return code.assemble();
  }
  code.copy(CONTEXT, 1);
  code.load(DATA, CONTEXT, 0, 4);
  code.load(END, CONTEXT, 4, 4);
  code.copy(LENGTH, END);
  code.subtract(LENGTH, DATA);
  code.when(LENGTH, '>', LONGEST_FRAME, PASSING);
  requireOctets(code, Octets.ethernet + Octets.ipv4 + Octets.udp);
  // To many stations at once, or from them.
  for (const station of [0, 6]) {
    code.load(A, DATA, station, 1);
    code.when(A, '&', 1, PASSING);
  }
  code.load(A, DATA, 12, 2);
  code.fromNetwork(A);
  code.when(A, '==', 0x86dd, 'ipv6');
  code.when(A, '!=', 0x0800, PASSING);
  ipv4(code, port, addresses);
  code.label('ipv6');
  ipv6(code, port, addresses);
  code.label(OURS);
  code.load(2, CONTEXT, 16, 4);
  code.setMap(1, map);
  // Without a socket at this queue the frame passes.
  code.set(3, PASS);
  code.call(REDIRECT_MAP);
  code.exit();
  code.label(PASSING);
  code.set(0, PASS);
  code.exit();
  return code.assemble();
}

function requireOctets(code: Assembler, octets: number): void {
  code.copy(A, DATA);
  code.add(A, octets);
  code.whenRegister(A, '>', END, PASSING);
}

function ipv4(code: Assembler, port: number, addresses: readonly Uint8Array[]): void {
  const ip = Octets.ethernet;
  code.load(A, DATA, ip, 1);
  code.when(A, '!=', 0x45, PASSING);
  code.load(A, DATA, ip + 6, 2);
  code.fromNetwork(A);
  code.when(A, '&', 0x3fff, PASSING);
  code.load(A, DATA, ip + 9, 1);
  code.when(A, '!=', UDP, PASSING);
  // Senders in 0.0.0.0/8, 127.0.0.0/8 and from 224.0.0.0 on.
  code.load(A, DATA, ip + 12, 1);
  code.when(A, '==', 0, PASSING);
  code.when(A, '==', 127, PASSING);
  code.when(A, '>=', 224, PASSING);
  code.load(A, DATA, ip + 2, 2);
  code.fromNetwork(A);
  datagram(code, { ip, header: Octets.ipv4, counted: Octets.ipv4, port });
  code.load(A, DATA, ip + 16, 4);
  code.load(B, DATA, ip + 12, 4);
  code.whenRegister(A, '==', B, PASSING);
  for (const address of addresses.filter(({ length }) => length === 4)) {
    code.whenHalf(A, new DataView(address.buffer, address.byteOffset).getInt32(0, true), OURS);
  }
  code.go(PASSING);
}

function ipv6(code: Assembler, port: number, addresses: readonly Uint8Array[]): void {
  const ip = Octets.ethernet;
  requireOctets(code, ip + Octets.ipv6 + Octets.udp);
  code.load(A, DATA, ip, 1);
  code.and(A, 0xf0);
  code.when(A, '!=', 0x60, PASSING);
  code.load(A, DATA, ip + 6, 1);
  code.when(A, '!=', UDP, PASSING);
  // Multicast, unspecified, loopback and mapped senders.
  code.load(A, DATA, ip + 8, 1);
  code.when(A, '==', 0xff, PASSING);
  code.load(A, DATA, ip + 8, 8);
  code.when(A, '==', 0, PASSING);
  // A sum is obligatory (RFC 8200 §8.1).
  code.load(A, DATA, ip + Octets.ipv6 + 6, 2);
  code.when(A, '==', 0, PASSING);
  code.load(A, DATA, ip + 4, 2);
  code.fromNetwork(A);
  datagram(code, { ip, header: Octets.ipv6, counted: 0, port });
  // From the address that it is sent to.
  code.load(A, DATA, ip + 8, 8);
  code.load(B, DATA, ip + 24, 8);
  code.whenRegister(A, '!=', B, 'from another');
  code.load(A, DATA, ip + 16, 8);
  code.load(B, DATA, ip + 32, 8);
  code.whenRegister(A, '==', B, PASSING);
  code.label('from another');
  for (const [i, address] of addresses.filter(({ length }) => length === 16).entries()) {
    const other = `not ${i}`;
    for (const half of [0, 8]) {
      code.load(A, DATA, ip + 24 + half, 8);
      code.setWide(B, address.subarray(half, half + 8));
      code.whenRegister(A, '!=', B, other);
    }
    code.go(OURS);
    code.label(other);
  }
  code.go(PASSING);
}

interface Datagram {
  readonly ip: number;
  readonly header: number;
  /** Octets of the IP header that its length counts. */
  readonly counted: number;
  readonly port: number;
}

/** Register A has the length that the IP header says. */
function datagram(code: Assembler, { ip, header, counted, port }: Datagram): void {
  const udp = ip + header;
  code.load(B, DATA, udp + 4, 2);
  code.fromNetwork(B);
  code.when(B, '<', Octets.udp + SHORTEST_MESSAGE, PASSING);
  code.add(B, counted);
  code.whenRegister(A, '!=', B, PASSING);
  // Short frames are padded, but never cut off.
  code.add(A, udp - counted);
  code.whenRegister(A, '>', LENGTH, PASSING);
  code.load(A, DATA, udp, 2);
  code.when(A, '==', 0, PASSING);
  code.load(A, DATA, udp + 2, 2);
  code.fromNetwork(A);
  code.when(A, '!=', port, PASSING);
}
