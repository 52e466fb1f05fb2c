/** What holds for zones in the configurations of all programs. */
import type { Note, ZoneStatement } from './configuration.js';

/** Zones that configurations come with, and that every resolver answers itself (RFC 6303, RFC 1912 §4.1). */
const LOCAL = ['localhost', 'localdomain', '127.in-addr.arpa', '0.in-addr.arpa', '255.in-addr.arpa'] as const;
const LOCAL_IPV6 = /^[01](?:\.0){31}\.ip6\.arpa$|^0\.ip6\.arpa$/;

/** The name of a zone as statements have it: in lower case, without a final dot. */
export function zoneNameOf(text: string): string {
  return text.toLowerCase().replace(/(?<=.)\.$/, '');
}

/** Why a zone that resolvers answer themselves is left out; undefined for other zones. */
export function localZoneNote({ name, place }: Pick<ZoneStatement, 'name' | 'place'>): Note | undefined {
  const isLocal = LOCAL.some((local) => name === local || name.endsWith(`.${local}`)) || LOCAL_IPV6.test(name);
  return isLocal ? { kind: 'self', place, text: `zone ${name}: resolvers answer it themselves (RFC 6303)` } : undefined;
}

/** Why a secondary zone that does not say where it comes from is not taken over. */
export const NO_PRIMARIES: NonNullable<ZoneStatement['refusal']> = {
  text: 'it has no primaries',
  remedy: 'Name its primary: zoneplane zone create --primary',
};

/** Why a catalog zone that the other server makes from its own zones is not taken over. */
export function madeCatalog(program: string): NonNullable<ZoneStatement['refusal']> {
  return {
    text: `it is a catalog that ${program} makes`,
    remedy: 'Make it here: zoneplane secondary catalog create',
  };
}
