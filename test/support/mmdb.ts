/** Writes files in the format of MaxMind, version 2: a tree of bits, data, and metadata. Only what tests need. */
import { parseNetwork } from '../../src/base/ip.js';

export type Value = string | number | { readonly [key: string]: Value } | readonly Value[];

export interface MmdbOptions {
  /** Bits of a record of the tree. */
  readonly recordSize?: 24 | 28 | 32;
  readonly ipVersion?: 4 | 6;
}

type Node = [left: Node | number | undefined, right: Node | number | undefined];

/** `entries`: networks that do not contain each other, and what is known of them. */
export function writeMmdb(
  entries: Readonly<Record<string, Value>>,
  { recordSize = 28, ipVersion = 6 }: MmdbOptions = {},
): Buffer {
  const data: Buffer[] = [];
  let dataLength = 0;
  const root: Node = [undefined, undefined];
  for (const [text, value] of Object.entries(entries)) {
    const network = parseNetwork(text)!;
    const isShort = network.address.length === 4;
    const bits = [
      ...(isShort && ipVersion === 6 ? new Array<number>(96).fill(0) : []),
      ...bitsOf(network.address, network.bits),
    ];
    const encoded = encode(value);
    insert(root, bits, dataLength);
    data.push(encoded);
    dataLength += encoded.length;
  }
  const nodes: Node[] = [];
  const number = (node: Node): void => {
    nodes.push(node);
    for (const child of node) if (Array.isArray(child)) number(child);
  };
  number(root);
  const indexes = new Map(nodes.map((node, index) => [node, index]));
  const record = (child: Node | number | undefined): number => {
    if (child === undefined) return nodes.length;
    return typeof child === 'number' ? nodes.length + 16 + child : indexes.get(child)!;
  };
  const tree = Buffer.concat(nodes.map(([left, right]) => encodeNode(record(left), record(right), recordSize)));
  const metadata = encode({
    ...{
      binary_format_major_version: 2,
      binary_format_minor_version: 0,
      build_epoch: 1,
      database_type: 'GeoLite2-City',
    },
    ...{ description: { en: 'test' }, ip_version: ipVersion, languages: ['en'], node_count: nodes.length },
    record_size: recordSize,
  });
  const marker = Buffer.concat([Buffer.of(0xab, 0xcd, 0xef), Buffer.from('MaxMind.com')]);
  return Buffer.concat([tree, Buffer.alloc(16), ...data, marker, metadata]);
}

function bitsOf(address: Uint8Array, count: number): number[] {
  return Array.from({ length: count }, (_, i) => (address[i >> 3]! >>> (7 - (i & 7))) & 1);
}

function insert(root: Node, bits: readonly number[], value: number): void {
  let node = root;
  for (const bit of bits.slice(0, -1)) {
    const next = node[bit] ?? [undefined, undefined];
    node[bit] = next;
    node = next as Node;
  }
  node[bits.at(-1)!] = value;
}

function encodeNode(left: number, right: number, size: number): Buffer {
  if (size === 24) {
    const node = Buffer.alloc(6);
    node.writeUIntBE(left, 0, 3);
    node.writeUIntBE(right, 3, 3);
    return node;
  }
  if (size === 28) {
    const node = Buffer.alloc(7);
    node.writeUIntBE(left & 0xffffff, 0, 3);
    node[3] = ((left >>> 24) << 4) | (right >>> 24);
    node.writeUIntBE(right & 0xffffff, 4, 3);
    return node;
  }
  const node = Buffer.alloc(8);
  node.writeUInt32BE(left, 0);
  node.writeUInt32BE(right, 4);
  return node;
}

/** Types of fields. */
const [TEXT, DOUBLE, MAP, UINT32, ARRAY] = [2, 3, 7, 6, 11];

function encode(value: Value): Buffer {
  if (typeof value === 'string') {
    const text = Buffer.from(value);
    return Buffer.concat([control(TEXT!, text.length), text]);
  }
  if (typeof value === 'number') {
    const isWhole = Number.isInteger(value) && value >= 0;
    const octets = Buffer.alloc(isWhole ? 4 : 8);
    if (isWhole) octets.writeUInt32BE(value);
    else octets.writeDoubleBE(value);
    return Buffer.concat([control(isWhole ? UINT32! : DOUBLE!, octets.length), octets]);
  }
  if (Array.isArray(value)) return Buffer.concat([control(ARRAY!, value.length), ...value.map(encode)]);
  const members = Object.entries(value as Readonly<Record<string, Value>>);
  return Buffer.concat([
    control(MAP!, members.length),
    ...members.flatMap(([key, member]) => [encode(key), encode(member)]),
  ]);
}

/** Sizes below 29 alone. */
function control(type: number, size: number): Buffer {
  return type > 7 ? Buffer.of(size, type - 7) : Buffer.of((type << 5) | size);
}
