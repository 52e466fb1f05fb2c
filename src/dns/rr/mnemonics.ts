/** Record type numbers and their mnemonics (IANA "Resource Record TYPEs"; RFC 3597 §5 for unknown types). */

const CODES = new Map<string, number>();
const MNEMONICS = new Map<number, string>();

/** Types that appear in questions or messages but are never zone data (RFC 6895 §3.1). */
const META: readonly (readonly [number, string])[] = [
  [41, 'OPT'],
  [249, 'TKEY'],
  [250, 'TSIG'],
  [251, 'IXFR'],
  [252, 'AXFR'],
  [253, 'MAILB'],
  [254, 'MAILA'],
  [255, 'ANY'],
];
/** Appears only as a bit in a type bitmap (RFC 9824 §3). */
const NXNAME = 128;
const META_CODES: ReadonlySet<number> = new Set([0, NXNAME, ...META.map(([code]) => code)]);
for (const [code, mnemonic] of META) registerMnemonic(code, mnemonic);

/**
 * Obsolete and very new types: their names are read in type bitmaps but not written, because not every server knows
 * them.
 */
const READ_ONLY: readonly (readonly [number, string])[] = [
  [30, 'NXT'],
  [31, 'EID'],
  [32, 'NIMLOC'],
  [34, 'ATMA'],
  [38, 'A6'],
  [40, 'SINK'],
  [100, 'UINFO'],
  [101, 'UID'],
  [102, 'GID'],
  [103, 'UNSPEC'],
  [67, 'HHIT'],
  [68, 'BRID'],
  [NXNAME, 'NXNAME'],
  [263, 'CLA'],
  [264, 'IPN'],
];
for (const [code, mnemonic] of READ_ONLY) CODES.set(mnemonic, code);

/** Registers a mnemonic; called once for each type when the types are defined. */
export function registerMnemonic(code: number, mnemonic: string): void {
  MNEMONICS.set(code, mnemonic);
  CODES.set(mnemonic, code);
}

/** The mnemonic, or `TYPEnnn` for a type without one. */
export function mnemonicOf(code: number): string {
  return MNEMONICS.get(code) ?? `TYPE${code}`;
}

/** The number of a mnemonic or `TYPEnnn` in any case, meta types included; undefined for other words. */
export function codeOfMnemonic(text: string): number | undefined {
  const code = CODES.get(text) ?? CODES.get(text.toUpperCase());
  if (code !== undefined) return code;
  const match = /^TYPE(\d{1,5})$/i.exec(text);
  if (!match) return undefined;
  const number = Number(match[1]);
  return number > 0xffff ? undefined : number;
}

/** Whether the type can never be zone data. */
export function isNeverStored(code: number): boolean {
  return META_CODES.has(code);
}
