/** Serial number arithmetic of SOA records (RFC 1982), 32 bits. */

/** Whether `a` comes after `b`. If the order is undefined (exactly 2^31 apart), the answer is false (RFC 1982 §3.2). */
export function serialIsAfter(a: number, b: number): boolean {
  const distance = (a - b) >>> 0;
  return distance !== 0 && distance < 0x80000000;
}

/** The next serial; zero is skipped, because several servers treat it as "none". */
export function nextSerial(serial: number): number {
  const next = (serial + 1) >>> 0;
  return next === 0 ? 1 : next;
}
