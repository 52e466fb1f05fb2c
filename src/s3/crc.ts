/** Cyclic redundancy checks of S3 checksums: CRC-32C (RFC 3720 §12.1) and CRC-64/NVME, eight octets at a time. Pure. */

const SLICES = 8;
const CRC32C = 0x82f63b78;
const CRC64_NVME = [0x9a6c9329, 0xac4bc9b5] as const;

/** Table `i` has the check of an octet that is followed by `i` zero octets. */
function tablesOf32(polynomial: number): readonly Uint32Array[] {
  const tables = Array.from({ length: SLICES }, () => new Uint32Array(256));
  for (let octet = 0; octet < 256; octet++) {
    let crc = octet;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ polynomial : crc >>> 1;
    tables[0]![octet] = crc;
  }
  for (let i = 1; i < SLICES; i++) {
    const [before, own] = [tables[i - 1]!, tables[i]!];
    for (let octet = 0; octet < 256; octet++) own[octet] = (before[octet]! >>> 8) ^ tables[0]![before[octet]! & 255]!;
  }
  return tables;
}

let crc32cTables: readonly Uint32Array[] | undefined;

/** Continues `crc`, which is 0 at the beginning. */
export function crc32c(octets: Uint8Array, crc = 0): number {
  const [t0, t1, t2, t3, t4, t5, t6, t7] = (crc32cTables ??= tablesOf32(CRC32C)) as Uint32Array[];
  const { length } = octets;
  let state = ~crc >>> 0;
  let at = 0;
  for (; at + 8 <= length; at += 8) {
    const low =
      (state ^ (octets[at]! | (octets[at + 1]! << 8) | (octets[at + 2]! << 16) | (octets[at + 3]! << 24))) >>> 0;
    state =
      t7![low & 255]! ^
      t6![(low >>> 8) & 255]! ^
      t5![(low >>> 16) & 255]! ^
      t4![low >>> 24]! ^
      t3![octets[at + 4]!]! ^
      t2![octets[at + 5]!]! ^
      t1![octets[at + 6]!]! ^
      t0![octets[at + 7]!]!;
  }
  for (; at < length; at++) state = (state >>> 8) ^ t0![(state ^ octets[at]!) & 255]!;
  return ~state >>> 0;
}

/** Halves of 64 bits; numbers of JavaScript hold no more than 53. */
interface Tables64 {
  readonly high: readonly Uint32Array[];
  readonly low: readonly Uint32Array[];
}

function tablesOf64([polynomialHigh, polynomialLow]: readonly [number, number]): Tables64 {
  const high = Array.from({ length: SLICES }, () => new Uint32Array(256));
  const low = Array.from({ length: SLICES }, () => new Uint32Array(256));
  for (let octet = 0; octet < 256; octet++) {
    let [h, l] = [0, octet];
    for (let bit = 0; bit < 8; bit++) {
      const carry = l & 1;
      l = (l >>> 1) | ((h & 1) << 31);
      h >>>= 1;
      if (carry) [h, l] = [h ^ polynomialHigh, l ^ polynomialLow];
    }
    high[0]![octet] = h;
    low[0]![octet] = l;
  }
  for (let i = 1; i < SLICES; i++) {
    for (let octet = 0; octet < 256; octet++) {
      const [h, l] = [high[i - 1]![octet]!, low[i - 1]![octet]!];
      high[i]![octet] = (h >>> 8) ^ high[0]![l & 255]!;
      low[i]![octet] = ((l >>> 8) | (h << 24)) ^ low[0]![l & 255]!;
    }
  }
  return { high, low };
}

let crc64Tables: Tables64 | undefined;

/** Running state of CRC-64/NVME. */
export class Crc64Nvme {
  private high = 0xffffffff;
  private low = 0xffffffff;

  update(octets: Uint8Array): void {
    const tables = (crc64Tables ??= tablesOf64(CRC64_NVME));
    const [high, low] = [tables.high as Uint32Array[], tables.low as Uint32Array[]];
    const [h0, h1, h2, h3, h4, h5, h6, h7] = high;
    const [l0, l1, l2, l3, l4, l5, l6, l7] = low;
    const { length } = octets;
    let [h, l] = [this.high, this.low];
    let at = 0;
    for (; at + 8 <= length; at += 8) {
      l ^= octets[at]! | (octets[at + 1]! << 8) | (octets[at + 2]! << 16) | (octets[at + 3]! << 24);
      h ^= octets[at + 4]! | (octets[at + 5]! << 8) | (octets[at + 6]! << 16) | (octets[at + 7]! << 24);
      const [a, b, c, d] = [l & 255, (l >>> 8) & 255, (l >>> 16) & 255, l >>> 24];
      const [e, f, g, i] = [h & 255, (h >>> 8) & 255, (h >>> 16) & 255, h >>> 24];
      h = h7![a]! ^ h6![b]! ^ h5![c]! ^ h4![d]! ^ h3![e]! ^ h2![f]! ^ h1![g]! ^ h0![i]!;
      l = l7![a]! ^ l6![b]! ^ l5![c]! ^ l4![d]! ^ l3![e]! ^ l2![f]! ^ l1![g]! ^ l0![i]!;
    }
    for (; at < length; at++) {
      const index = (l ^ octets[at]!) & 255;
      l = ((l >>> 8) | (h << 24)) ^ l0![index]!;
      h = (h >>> 8) ^ h0![index]!;
    }
    this.high = h >>> 0;
    this.low = l >>> 0;
  }

  /** Eight octets, the highest first. */
  digest(): Buffer {
    const octets = Buffer.alloc(8);
    octets.writeUInt32BE(~this.high >>> 0, 0);
    octets.writeUInt32BE(~this.low >>> 0, 4);
    return octets;
  }
}

/** The modulus of polynomial arithmetic for a CRC. Bits are reflected: the highest is the coefficient of x⁰. */
interface Modulus {
  readonly octets: 4 | 8;
  readonly one: bigint;
  readonly polynomial: bigint;
}

const MODULI = {
  crc32: { octets: 4, one: 1n << 31n, polynomial: 0xedb88320n },
  crc32c: { octets: 4, one: 1n << 31n, polynomial: BigInt(CRC32C) },
  crc64nvme: { octets: 8, one: 1n << 63n, polynomial: (BigInt(CRC64_NVME[0]) << 32n) | BigInt(CRC64_NVME[1]) },
} as const satisfies Readonly<Record<string, Modulus>>;

export type CrcName = keyof typeof MODULI;

function multiply({ one, polynomial }: Modulus, a: bigint, b: bigint): bigint {
  let [product, shifted] = [0n, b];
  for (let bit = one; bit > 0n; bit >>= 1n) {
    if (a & bit) product ^= shifted;
    shifted = shifted & 1n ? (shifted >> 1n) ^ polynomial : shifted >> 1n;
  }
  return product;
}

/** x to the power of eight times a number. */
function powerOf(modulus: Modulus, octets: number): bigint {
  let [power, square] = [modulus.one, modulus.one >> 8n];
  for (let left = octets; left > 0; left = Math.floor(left / 2)) {
    if (left % 2 === 1) power = multiply(modulus, power, square);
    square = multiply(modulus, square, square);
  }
  return power;
}

/** The check of octets behind others, from the checks of pieces with their lengths, which nobody has to read again. */
export function* joinCrc(
  name: CrcName,
  pieces: readonly { readonly crc: Buffer; readonly octets: number }[],
): Generator<undefined, Buffer> {
  const modulus: Modulus = MODULI[name];
  // Most parts of an upload have the same length.
  const powers = new Map<number, bigint>();
  let crc = 0n;
  for (const { crc: own, octets } of pieces) {
    let power = powers.get(octets);
    if (power === undefined) powers.set(octets, (power = powerOf(modulus, octets)));
    crc = multiply(modulus, crc, power) ^ BigInt(`0x${own.toString('hex')}`);
    yield;
  }
  return Buffer.from(crc.toString(16).padStart(2 * modulus.octets, '0'), 'hex');
}
