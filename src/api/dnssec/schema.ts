/** Shapes of `/zones/{zone_id}/dnssec` and below (v4: §9). */
import { z } from 'zod';
import { time } from '../schema.js';

const flag = z.boolean({ error: 'true or false' }).nullish();

export const dnssec = z
  .object({
    status: z
      .enum(['active', 'pending', 'disabled', 'pending-disabled'])
      .describe('`pending` until every server of the parent has the DS record; `pending-disabled` until none has it'),
    flags: z.int().nullable().describe('257: a key that the parent points to'),
    algorithm: z.string().nullable(),
    key_type: z
      .string()
      .nullable()
      .meta({ examples: ['ECDSAP256SHA256'] }),
    digest_type: z.string().nullable(),
    digest_algorithm: z.string().nullable(),
    digest: z.string().nullable(),
    ds: z.string().nullable().describe('The DS record for the parent, as a line of a zone file'),
    key_tag: z.int().nullable(),
    public_key: z.string().nullable(),
    modified_on: time.nullable(),
    dnssec_multi_signer: z.boolean(),
    dnssec_presigned: z.boolean(),
    dnssec_use_nsec3: z.boolean(),
    dnssec_signals: z
      .boolean()
      .describe('Whether it announces the keys of zones whose name servers have names in it (RFC 9615)'),
    dnssec_parental_agent: z
      .boolean()
      .describe('Whether it takes the DS records of the zones below it from their CDS records (RFC 7344)'),
  })
  .meta({ id: 'Dnssec' });
export type Dnssec = z.output<typeof dnssec>;

export const dnssecEdit = z
  .object({
    status: z.enum(['active', 'disabled'], { error: 'active or disabled' }).nullish(),
    dnssec_multi_signer: flag.describe(
      'Whether DNSKEY records of other signers may be added; off only when none is left',
    ),
    dnssec_presigned: flag.describe('Only zones that came with their signatures can be signed elsewhere'),
    dnssec_use_nsec3: flag.describe('Whether absence is proven by hashed names'),
    dnssec_signals: flag.describe(
      'Whether this zone announces the keys of zones whose name servers have names in it, so that registries can turn on DNSSEC by themselves (RFC 9615)',
    ),
    dnssec_parental_agent: flag.describe(
      'Whether this zone takes the DS records of zones of the same account that it delegates, and that are signed by this service, from their CDS records (RFC 7344, RFC 8078)',
    ),
    denial: z
      .enum(['nsec', 'nsec3', 'compact'], { error: 'nsec, nsec3 or compact' })
      .nullish()
      .describe(
        'How absence is proven: `nsec` by names in order, `nsec3` by hashed names (as `dnssec_use_nsec3`), `compact` (RFC 9824) by records that are signed when they are asked for, with the ZSK in the DNS processes; not for zones that are transferred to peers',
      ),
  })
  .meta({ id: 'DnssecEdit', examples: [{ status: 'active' }] });

export const zoneSigningKey = z
  .object({
    Name: z.string(),
    Tag: z.enum(['active', 'publish', 'external', 'retired', 'removed']),
    Location: z.literal('database'),
    DNSKEY: z.object({
      Hdr: z.object({
        Name: z.string(),
        Rrtype: z.int(),
        Class: z.int(),
        Ttl: z.int().describe('Seconds'),
        Rdlength: z.int().describe('Octets'),
      }),
      Flags: z.int(),
      Protocol: z.int(),
      Algorithm: z.int(),
      PublicKey: z.string(),
    }),
  })
  .meta({ id: 'ZoneSigningKey' });
export type ZoneSigningKey = z.output<typeof zoneSigningKey>;

export const dnssecKey = z
  .object({
    id: z.string(),
    role: z.enum(['ksk', 'zsk', 'csk']),
    key_tag: z.int(),
    algorithm: z.int(),
    key_type: z.string(),
    flags: z.int(),
    public_key: z.string(),
    state: z
      .enum(['presigning', 'published', 'active', 'retired', 'withdrawn', 'external'])
      .describe('`external`: a key of another signer of the zone'),
    since: time,
    waiting_for: z.string().nullable().describe('What the next step of a rollover waits for, in words'),
    until: time.nullable().describe('When the wait is over at the earliest'),
    ds: z.string().nullable().describe('Its DS record; null for keys that the parent does not point to'),
  })
  .meta({ id: 'DnssecKey' });
export type DnssecKey = z.output<typeof dnssecKey>;

export const rolloverRequest = z
  .object({
    role: z
      .enum(['zsk', 'ksk'], { error: 'zsk or ksk' })
      .nullish()
      .describe('Both keys when only `algorithm` is given, or when the zone has one key for everything'),
    algorithm: z.int().nullish().describe('13 (ECDSAP256SHA256) or 15 (ED25519); the present one when left out'),
    emergency: flag.describe(
      'Wait only for the parent, not for what resolvers remember; also for a rollover under way',
    ),
  })
  .meta({ id: 'DnssecRollover', examples: [{ role: 'zsk' }] });

export const dsSeen = z
  .object({
    key_tag: z.int().min(0).max(65_535).nullable().describe('Null: the parent has no DS record'),
  })
  .meta({ id: 'DnssecDsSeen', examples: [{ key_tag: 2371 }] });

export const dnssecStatus = z
  .object({
    status: dnssec.shape.status,
    denial: z.enum(['nsec', 'nsec3', 'compact']).nullable(),
    signed_owners: z.int().describe('Names with signatures'),
    progress: z.number().nullable().describe('Part of the zone that is signed while signing is under way, from 0 to 1'),
    first_expiry: time.nullable().describe('When the first signature ends'),
    due: z.int().describe('Names whose signatures are to be made anew'),
    failure: z.string().nullable().describe('Why nothing can be signed at present'),
    signals: z
      .array(z.string())
      .describe('Names at which zones of name servers announce its keys until the parent has the DS record (RFC 9615)'),
    parent: z
      .object({
        checked_on: time.nullable(),
        servers: z.array(
          z.object({
            server: z.string(),
            ds: z.array(z.string()).nullable().describe('Null: the server did not answer'),
          }),
        ),
        taken_by: z
          .string()
          .nullable()
          .describe('The parent zone that is served here and takes the DS records by itself (`dnssec_parental_agent`)'),
        could_take: z
          .object({ name: z.string(), signed: z.boolean().describe('Whether it is signed, which it must be') })
          .nullable()
          .describe(
            'The parent zone that is served here and does not take the DS records by itself, but would with `dnssec_parental_agent`',
          ),
      })
      .describe('What the servers of the parent had when they were last asked'),
  })
  .meta({ id: 'DnssecStatus' });
export type DnssecStatus = z.output<typeof dnssecStatus>;
