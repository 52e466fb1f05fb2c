/** The key tag of DNSKEY rdata (RFC 4034 B). Algorithm 1, which has its own rule, is not supported. */
export function keyTag(rdata: Uint8Array): number {
  let sum = 0;
  for (let i = 0; i < rdata.length; i++) sum += i & 1 ? rdata[i]! : rdata[i]! << 8;
  return (sum + ((sum >>> 16) & 0xffff)) & 0xffff;
}
