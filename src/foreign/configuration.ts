/** What the configuration of a name server says, in words that all of them share. */
import type { Network } from '../base/ip.js';
import type { Place } from './place.js';

export const PROGRAMS = ['bind', 'nsd', 'knot', 'powerdns'] as const;
export type ProgramName = (typeof PROGRAMS)[number];

export interface KeyStatement {
  readonly name: string;
  readonly algorithm: string;
  /** Base 64. */
  readonly secret: string;
  readonly place: Place;
}

export interface ServerStatement {
  readonly address: string;
  /** Absent: the usual one. */
  readonly port?: number | undefined;
  /** Name of the key that signs. */
  readonly key?: string | undefined;
  /** The name that its certificate has to have, when it is asked over TLS. */
  readonly tlsName?: string | undefined;
  /** Why it cannot be asked over TLS as it should be. */
  readonly tlsFault?: string | undefined;
  readonly place: Place;
}

/** Who may transfer: from these addresses, and signed with this key, where they are there. Neither: everybody. */
export interface Grant {
  readonly network?: Network | undefined;
  /** As it was written. */
  readonly text?: string | undefined;
  readonly key?: string | undefined;
  readonly place: Place;
}

/** What a key may change by dynamic updates. */
export interface UpdateStatement {
  readonly key: string;
  /** Full names, in which `*` stands for any characters; absent: all of the zone. */
  readonly names?: readonly string[] | undefined;
  /** Mnemonics; absent: all. */
  readonly types?: readonly string[] | undefined;
  /** Types that are left out, with all others allowed. */
  readonly without?: readonly string[] | undefined;
  readonly place: Place;
}

/** A private key that signs a zone, as PowerDNS stores it. */
export interface StoredKey {
  /** In the format of BIND. */
  readonly text: string;
  /** Flags of its DNSKEY. */
  readonly flags: number;
}

/** That the server signs the zone. */
export interface SigningStatement {
  readonly place: Place;
  /** The directory of BIND's key files. */
  readonly directory?: string;
  readonly keys?: readonly StoredKey[];
  /** Why its keys cannot be read, and what to do. */
  readonly remedy?: string;
}

export interface ZoneStatement {
  /** Without the final dot. */
  readonly name: string;
  readonly place: Place;
  /** `catalog`: a secondary zone whose members become zones. */
  readonly role: 'primary' | 'secondary' | 'catalog';
  /** Of a primary zone. */
  readonly source?: { readonly file: string } | { readonly text: string };
  readonly primaries: readonly ServerStatement[];
  /** Who is told of changes. */
  readonly notified: readonly ServerStatement[];
  readonly grants: readonly Grant[];
  readonly updates: readonly UpdateStatement[];
  readonly signing?: SigningStatement;
  /** Why the zone cannot be taken as it is, and what to do. */
  readonly refusal?: { readonly text: string; readonly remedy: string };
}

/**
 * What is not taken over. `self`: this service does that by itself, or needs no such thing; `resolver`: it is for resolvers;
 * `setting`: a setting of this service says it; `none`: there is no equivalent.
 */
export interface Note {
  readonly kind: 'self' | 'resolver' | 'setting' | 'none';
  readonly place: Place;
  readonly text: string;
}

/** Whether a setting of this name may hold a secret. Notes do not repeat secrets, because they are printed and kept in logs. */
export function mayBeSecret(name: string): boolean {
  return /password|secret|api-key|connection|keystore/.test(name);
}

export interface Configuration {
  readonly program: ProgramName;
  readonly keys: readonly KeyStatement[];
  readonly zones: readonly ZoneStatement[];
  readonly notes: readonly Note[];
}

export interface ReadingOptions {
  /** Which view of BIND. */
  readonly view?: string | undefined;
  /** See ConfigurationFiles. */
  readonly root?: string | undefined;
}
