/** Frames of Ethernet for tests: written as a client would, and read strictly. */

export interface FrameOptions {
  readonly from: string;
  readonly to: string;
  readonly fromMac: Buffer;
  readonly toMac: Buffer;
  readonly fromPort?: number;
  readonly port: number;
  readonly message: Buffer;
}

const octetsOf = (address: string): Buffer =>
  address.includes(':') ? ipv6(address) : Buffer.from(address.split('.').map(Number));

function ipv6(address: string): Buffer {
  const [head = '', tail = ''] = address.split('::');
  const groups = (text: string): number[] =>
    text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16));
  const [before, after] = [groups(head), groups(tail)];
  const all = [...before, ...Array<number>(8 - before.length - after.length).fill(0), ...after];
  return Buffer.from(all.flatMap((group) => [group >> 8, group & 255]));
}

/** RFC 1071. */
export function sumOf(...parts: readonly Buffer[]): number {
  const octets = Buffer.concat(parts);
  let sum = 0;
  for (let i = 0; i < octets.length; i += 2) sum += (octets[i]! << 8) | (octets[i + 1] ?? 0);
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16);
  return sum;
}

const word = (value: number): Buffer => Buffer.from([value >> 8, value & 255]);

export function makeFrame(options: FrameOptions): Buffer {
  const { from, to, fromMac, toMac, fromPort = 40_000, port, message } = options;
  const [source, destination] = [octetsOf(from), octetsOf(to)];
  const length = word(8 + message.length);
  const udp = Buffer.concat([word(fromPort), word(port), length, word(0), message]);
  const sum = ~sumOf(source, destination, Buffer.of(0, 17), length, udp) & 0xffff;
  // Zero says that there is none, and over IPv6 nobody takes it (RFC 768, RFC 8200 §8.1).
  udp.writeUInt16BE(sum === 0 ? 0xffff : sum, 6);
  if (source.length === 16) {
    const ip = Buffer.concat([Buffer.of(0x60, 0, 0, 0), length, Buffer.of(17, 64), source, destination]);
    return Buffer.concat([toMac, fromMac, word(0x86dd), ip, udp]);
  }
  const ip = Buffer.concat([
    ...[Buffer.of(0x45, 0), word(20 + udp.length), word(1), word(0x4000), Buffer.of(64, 17), word(0)],
    ...[source, destination],
  ]);
  ip.writeUInt16BE(~sumOf(ip) & 0xffff, 10);
  return Buffer.concat([toMac, fromMac, word(0x0800), ip, udp]);
}

/** The ports of a UDP datagram; undefined: the frame is another one. */
export function portsOf(frame: Buffer): { readonly from: number; readonly to: number } | undefined {
  if (frame.length < 42) return undefined;
  const isV4 = frame.readUInt16BE(12) === 0x0800;
  const at = isV4 ? 34 : 54;
  if (frame.length < at + 8 || frame[isV4 ? 23 : 20] !== 17) return undefined;
  return { from: frame.readUInt16BE(at), to: frame.readUInt16BE(at + 2) };
}

/** The message of a frame that is right in every sum, length, address and port; otherwise a text that says what is wrong. `isSummed`: the
 * kernel leaves the sum of the datagram to the network card, and there is no such card here. */
export function readFrame(frame: Buffer, expected: FrameOptions, isSummed = true): Buffer | string {
  const { from, to, fromMac, toMac, fromPort = 40_000, port } = expected;
  if (!frame.subarray(0, 6).equals(toMac) || !frame.subarray(6, 12).equals(fromMac)) return 'stations';
  const isV4 = frame.readUInt16BE(12) === 0x0800;
  const ip = frame.subarray(14);
  const header = isV4 ? 20 : 40;
  const udp = ip.subarray(header, isV4 ? ip.readUInt16BE(2) : header + ip.readUInt16BE(4));
  if (isV4 && sumOf(ip.subarray(0, 20)) !== 0xffff) return 'sum of the header';
  const addresses = isV4 ? ip.subarray(12, 20) : ip.subarray(8, 40);
  if (!addresses.equals(Buffer.concat([octetsOf(from), octetsOf(to)]))) return 'addresses';
  if (udp.readUInt16BE(0) !== fromPort || udp.readUInt16BE(2) !== port) return 'ports';
  if (udp.readUInt16BE(4) !== udp.length) return 'length';
  const isRight = sumOf(addresses, Buffer.of(0, 17), udp.subarray(4, 6), udp) === 0xffff;
  return !isSummed || isRight ? udp.subarray(8) : 'sum of the datagram';
}
