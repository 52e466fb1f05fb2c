/** Serial number arithmetic of SOA records (RFC 1982), 32 bits. */

/** Whether `a` comes after `b`. Undefined order (exactly 2^31 apart) counts as not after (RFC 1982 §3.2). */
export function serialIsAfter(a: number, b: number): boolean {
  const distance = (a - b) >>> 0;
  return distance !== 0 && distance < 0x80000000;
}

/** The serial that follows; zero is skipped, as several servers treat it as "none". */
export function nextSerial(serial: number): number {
  const next = (serial + 1) >>> 0;
  return next === 0 ? 1 : next;
}
