/** What a client sends for a record. `undefined` and null mean that a member is absent (v4: §0 rule 9, §5.3). */
import { AppError } from '../../base/errors.js';
import { typeByMnemonic } from '../../dns/rr/registry.js';
import { RdataError, type RRType } from '../../dns/rr/type.js';
import type { RecordSettings } from '../../store/records/records.js';
import { badBody } from '../kernel/errors.js';
import type { TtlInput } from '../rules/ttl.js';

/** A record as a client sends it. */
export interface RecordInput {
  readonly type?: string | null | undefined;
  readonly name?: string | null | undefined;
  readonly content?: string | null | undefined;
  readonly data?: Readonly<Record<string, unknown>> | null | undefined;
  readonly ttl?: TtlInput;
  readonly proxied?: boolean | null | undefined;
  /** Checked by the type: numbers also come as text (v4: §6). */
  readonly priority?: number | string | null | undefined;
  readonly comment?: string | null | undefined;
  readonly tags?: readonly string[] | null | undefined;
  readonly settings?:
    | { readonly [Name in keyof RecordSettings]?: RecordSettings[Name] | null | undefined }
    | null
    | undefined;
  readonly private_routing?: boolean | null | undefined;
  /** Whether a PTR record is kept for the address. Not part of the v4 API. */
  readonly ptr?: boolean | null | undefined;
  /** When the service removes it; null: never. Not part of the v4 API. */
  readonly expires_on?: string | null | undefined;
}

/** The type that a client names. SPF is historic and stored as TXT; the service creates the SOA (v4: §5.2). */
export function readType(text: string): RRType {
  const mnemonic = text.trim().toUpperCase();
  if (mnemonic === 'SOA') throw badBody('the service creates the SOA record; edit it in the DNS settings', '/type');
  const type = typeByMnemonic(mnemonic === 'SPF' ? 'TXT' : mnemonic);
  if (!type?.creatable) throw badBody(`${text.slice(0, 40)} is not a record type that can be created`, '/type');
  return type;
}

/**
 * The name that older SRV clients give in parts inside `data` (v4: §6 SRV). It is used unless the top-level name begins
 * with an underscore, because such a name is complete.
 */
export function legacyServiceName(input: RecordInput): string | undefined {
  const { service, proto, name } = input.data ?? {};
  if (typeof service !== 'string' || typeof proto !== 'string' || input.name?.trim().startsWith('_')) return undefined;
  const label = (text: string): string => (text.startsWith('_') ? text : `_${text}`);
  const host = typeof name === 'string' ? name.trim() : (input.name ?? '').trim();
  const prefix = `${label(service.trim())}.${label(proto.trim())}`;
  return host === '' || host === '@' || host === '.' ? prefix : `${prefix}.${host}`;
}

const SETTINGS_BY_TYPE: Readonly<Record<string, readonly (keyof RecordSettings)[]>> = {
  A: ['ipv4_only', 'ipv6_only', 'origin_port'],
  AAAA: ['ipv4_only', 'ipv6_only', 'origin_port'],
  CNAME: ['ipv4_only', 'ipv6_only', 'flatten_cname', 'origin_port'],
};

/** The settings that apply to the type, merged into the stored ones; null members are removed. */
export function readSettings(type: string, sent: RecordInput['settings'], stored: RecordSettings): RecordSettings {
  const settings: Record<string, boolean | number> = {};
  for (const member of SETTINGS_BY_TYPE[type] ?? []) {
    const value = sent && member in sent ? sent[member] : stored[member];
    if (value !== undefined && value !== null) settings[member] = value;
  }
  if (settings['ipv4_only'] && settings['ipv6_only']) {
    throw badBody('ipv4_only and ipv6_only exclude each other', '/settings');
  }
  return settings;
}

/** Runs a conversion of dns/rr and turns its refusals into v4 errors. */
export function convert<T>(run: () => T): T {
  try {
    return run();
  } catch (error) {
    if (!(error instanceof RdataError)) throw error;
    throw new AppError('records.badValue', 400, error.code, error.message, { pointer: error.pointer });
  }
}
