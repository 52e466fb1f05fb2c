/** Zones that configurations come with, and that every resolver answers itself (RFC 6303, RFC 1912 §4.1). */
const LOCAL = ['localhost', 'localdomain', '127.in-addr.arpa', '0.in-addr.arpa', '255.in-addr.arpa'] as const;
const LOCAL_IPV6 = /^[01](?:\.0){31}\.ip6\.arpa$|^0\.ip6\.arpa$/;

export function isLocalZone(name: string): boolean {
  return LOCAL.some((local) => name === local || name.endsWith(`.${local}`)) || LOCAL_IPV6.test(name);
}
