/** Which host names a certificate is good for. */

/**
 * Whether a certificate for the names `certified` covers `name`: the name itself, or a wildcard for its first label
 * (RFC 9525 §6.3). All names are in lower case, without final dots.
 */
export function isCovered(name: string, certified: readonly string[]): boolean {
  if (certified.includes(name)) return true;
  return !name.startsWith('*.') && name.includes('.') && certified.includes(`*${name.slice(name.indexOf('.'))}`);
}
