/** Reads strings in the Huffman code of HPACK (RFC 7541 §5.2). Pure. */

/** How many bits the code of each octet has, and that of the end (Appendix B). */
const LENGTHS = [
  ...[13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28],
  ...[28, 28, 28, 28, 6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, 5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15],
  ...[6, 12, 10, 13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6],
  ...[15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5, 6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28, 20, 22, 20],
  ...[20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23, 24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23],
  ...[24, 22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22],
  ...[22, 23, 22, 22, 23, 26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25, 19, 21, 26, 27, 27, 26, 27],
  ...[24, 21, 21, 26, 26, 28, 27, 27, 27, 20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23, 26, 27, 26],
  ...[26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26, 30],
];

const END = 256;
const LONGEST_PADDING = 7;

/** A node has two others, for the bits 0 and 1; a number is a symbol. */
type Node = [Node | number | undefined, Node | number | undefined];

/** The code is canonical: among codes of one length, those of smaller symbols are smaller, and shorter codes come first. */
function makeTree(): Node {
  const root: Node = [undefined, undefined];
  const symbols = LENGTHS.map((length, symbol) => ({ length, symbol }));
  symbols.sort((a, b) => a.length - b.length || a.symbol - b.symbol);
  let code = 0;
  let width = 0;
  for (const { length, symbol } of symbols) {
    code *= 2 ** (length - width);
    width = length;
    let node = root;
    for (let bit = length - 1; bit > 0; bit--) {
      const branch = (code >>> bit) & 1;
      node = (node[branch] ??= [undefined, undefined]) as Node;
    }
    node[code & 1] = symbol;
    code += 1;
  }
  return root;
}

const ROOT = makeTree();

/** One character for each octet; undefined if it is not in this code. */
export function readHuffman(octets: Buffer): string | undefined {
  const found: number[] = [];
  let node = ROOT;
  let depth = 0;
  let isPadding = true;
  for (const octet of octets) {
    for (let bit = 7; bit >= 0; bit--) {
      const branch = (octet >>> bit) & 1;
      const next = node[branch]!;
      depth += 1;
      isPadding &&= branch === 1;
      if (typeof next !== 'number') {
        node = next;
        continue;
      }
      if (next === END) return undefined;
      found.push(next);
      node = ROOT;
      depth = 0;
      isPadding = true;
    }
  }
  // The rest of the last octet begins like the end.
  if (depth > LONGEST_PADDING || !isPadding) return undefined;
  return Buffer.from(found).toString('latin1');
}
