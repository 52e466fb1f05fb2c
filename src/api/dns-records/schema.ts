/** Shapes of DNS records on the wire (v4: §5, §6); the members of `data` come from the record types themselves. */
import { z } from 'zod';
import { recordFailure } from '../../control/rules/record-failures.js';
import { DECIMAL } from '../../control/rules/ttl.js';
import { TYPES } from '../../dns/rr/registry.js';
import type { DataMember } from '../../dns/rr/type.js';
import { refusedWith } from '../body-schema.js';
import { diff, direction, identifier, match, message, onlyId, pageQuery, time } from '../schema.js';

export const RECORD_ORDERS = ['type', 'name', 'content', 'ttl', 'proxied', 'canonical'] as const;

export const recordParams = z.object({ zone_id: identifier('zone'), dns_record_id: identifier('record') });

const CREATABLE = TYPES.filter((type) => type.creatable).sort((a, b) => (a.mnemonic < b.mnemonic ? -1 : 1));
const recordType = z.string().meta({
  description: 'Record type, any case on input',
  examples: CREATABLE.map(({ mnemonic }) => mnemonic),
});

/** `data` of each structured type, as a client reads and writes it. */
const recordData = z
  .union(CREATABLE.filter(({ data }) => data.length > 0).map(dataSchema))
  .meta({ id: 'RecordData', description: 'The value in parts, for structured types' }) as unknown as z.ZodType<
  Record<string, unknown>
>;

function dataSchema({ mnemonic, rfc, data }: { mnemonic: string; rfc: string; data: readonly DataMember[] }) {
  const members = data.map((member) => [member.name, memberSchema(member)] as const);
  return z
    .strictObject(Object.fromEntries(members))
    .meta({ id: `${mnemonic}Data`, description: `${mnemonic}, ${rfc}` });
}

function memberSchema(member: DataMember): z.ZodType {
  const schema = valueSchema(member);
  return member.required ? schema : schema.optional();
}

function valueSchema({ type, minimum, maximum, values }: DataMember): z.ZodType {
  switch (type) {
    case 'strings':
      return z.array(z.string());
    case 'string':
      return values ? z.enum(values as [string, ...string[]]) : z.string();
    default: {
      let number = type === 'integer' ? z.int() : z.number();
      if (minimum !== undefined) number = number.min(minimum);
      if (maximum !== undefined) number = number.max(maximum);
      return number;
    }
  }
}

const recordSettings = z.object({
  ipv4_only: z.boolean().optional(),
  ipv6_only: z.boolean().optional(),
  flatten_cname: z.boolean().optional(),
  origin_port: z.int().min(1).max(65535).optional().describe('Port of the origin; absent: that of the scheme'),
});

export const record = z
  .object({
    id: z.string(),
    zone_id: z.string(),
    zone_name: z.string(),
    name: z.string().describe('Fully qualified, lower-case punycode, without the final dot'),
    type: recordType,
    content: z.string(),
    priority: z.int().optional().describe('MX, SRV and URI'),
    proxiable: z.boolean(),
    proxied: z.boolean(),
    ttl: z.int().describe('Seconds; 1 = automatic'),
    settings: recordSettings,
    data: recordData.optional(),
    private_routing: z.boolean().optional(),
    ptr: z
      .literal(true)
      .optional()
      .describe(
        'On A and AAAA: a PTR record is maintained for it. On PTR: it is maintained for an address record; ours',
      ),
    expires_on: time.optional().describe('When the service removes it; absent: never; ours'),
    locked: z.literal(false),
    meta: z.object({
      auto_added: z.boolean(),
      managed_by_apps: z.boolean(),
      managed_by_argo_tunnel: z.boolean(),
      source: z.string(),
      read_only: z.literal(true).optional().describe('The record of a custom domain of a bucket'),
      r2_bucket: z.string().optional().describe('Name of that bucket'),
      shadowed_by_lb: z.literal(true).optional().describe('A load balancer of its name is answered instead; ours'),
      target: z
        .object({ status: z.enum(['nowhere', 'unreachable', 'stale']), reason: z.string() })
        .optional()
        .describe('For proxied and flattened CNAMEs with a problem at their target; ours'),
      ptr: z
        .object({
          status: z.enum(['kept', 'no-zone', 'other-record']),
          zone_id: z.string().optional(),
          record_id: z.string().optional(),
        })
        .optional()
        .describe('With `ptr`: the other record of the pair, or why there is no PTR record; ours'),
      warnings: z
        .array(z.object({ code: z.string(), text: z.string(), remedy: z.string().describe('What to change') }))
        .optional()
        .describe(
          'What is wrong with the SPF, DKIM, DMARC, MTA-STS, TLS-RPT, BIMI, null MX or CAA policy of the record; ours',
        ),
      shadowed_by: z.array(z.string()).optional().describe('NS records that prevent it from being answered'),
      is_glue: z.boolean().optional(),
      dead_glue: z.boolean().optional(),
      shadowed_records_count: z.int().optional(),
    }),
    comment: z.string().nullable(),
    tags: z.array(z.string()),
    created_on: time,
    modified_on: time,
    comment_modified_on: time.optional(),
    tags_modified_on: time.optional(),
  })
  .meta({ id: 'DnsRecord' });

export type DnsRecord = z.output<typeof record>;

const ttl = refusedWith(
  z
    .union([z.number(), z.string().regex(DECIMAL)])
    .nullish()
    .describe('Seconds; 1, 0 or absent = automatic'),
  ({ pointer }) => recordFailure('badTtl', {}, { pointer }),
);

const flag = z.boolean().nullish();

/**
 * Members of a client's record. Unknown ones are ignored and null means absent (v4: §0.9). The use case checks the type
 * and the members of `data`: an edit may omit the type, and then the stored record decides; each member of `data` has
 * its own error codes, and numbers may be sent as text (v4: §6).
 */
const writable = {
  content: z.string().nullish().describe('Value as text; for TXT it is returned exactly as sent'),
  data: z
    .union([z.record(z.string(), z.unknown()), recordData], { error: 'an object' })
    .nullish()
    .describe('Value in parts; wins over `content` if both are present'),
  ttl,
  proxied: flag,
  priority: z
    .union([z.number(), z.string()], { error: 'a number' })
    .nullish()
    .describe('MX and URI; ignored on other types'),
  comment: z.string().nullish(),
  tags: z.array(z.string()).nullish().describe('Each in the form `name:value`'),
  settings: z
    .object({
      ipv4_only: flag,
      ipv6_only: flag,
      flatten_cname: flag,
      origin_port: z
        .int({ error: 'a number from 1 to 65535' })
        .min(1, { error: 'a number from 1 to 65535' })
        .max(65535, { error: 'a number from 1 to 65535' })
        .nullish(),
    })
    .nullish(),
  private_routing: flag,
  ptr: flag.describe('A and AAAA: maintain a PTR record in the reverse zone of the same account; ours'),
  expires_on: z
    .string()
    .nullish()
    .describe('RFC 3339 time in the future at which the service removes the record; null: never; ours'),
};

export const recordCreation = z
  .object({
    type: recordType,
    name: z
      .string()
      .nullish()
      .describe('`@` for the apex, relative to the zone, or fully qualified. Only SRV may have it in `data` instead'),
    ...writable,
  })
  .meta({
    id: 'DnsRecordCreation',
    examples: [{ type: 'A', name: 'www', content: '192.0.2.10', ttl: 300, comment: 'web server', tags: ['env:prod'] }],
  });

export const recordEdit = z.object({ type: recordType.nullish(), name: z.string().nullish(), ...writable }).meta({
  id: 'DnsRecordEdit',
  description: 'PATCH: absent members stay unchanged. PUT: they return to their defaults.',
  examples: [{ content: '192.0.2.11', ttl: 1 }],
});

const recordChange = z.object({ id: z.string(), ...recordEdit.shape });

export const batchBody = z
  .object({
    deletes: z.array(onlyId).nullish(),
    patches: z.array(recordChange).nullish(),
    puts: z.array(recordChange).nullish(),
    posts: z.array(recordCreation).nullish(),
  })
  .meta({
    id: 'DnsRecordBatch',
    description: 'Executed in this order, all or nothing.',
    examples: [
      {
        deletes: [{ id: '023e105f4ecef8ad9ca31a8372d0c353' }],
        posts: [{ type: 'TXT', name: '_acme-challenge', content: 'token', ttl: 60 }],
      },
    ],
  });

/** Found records, unchanged or edited. */
export const reviewBody = z
  .object({
    accepts: z.array(recordCreation.extend({ id: z.string().optional() })).nullish(),
    rejects: z.array(onlyId).nullish(),
  })
  .meta({ id: 'ScanReview' });

export const batchResult = z.object({
  deletes: z.array(record).describe('The deleted records'),
  patches: z.array(record),
  puts: z.array(record),
  posts: z.array(record),
});

export const usage = z.object({ record_quota: z.int().nullable(), record_usage: z.int() });

export const importForm = z.object({
  file: z.string().describe('Zone file (RFC 1035 §5), at most 256 KiB'),
  proxied: z.enum(['true', 'false']).optional().describe('Whether proxiable records become proxied'),
});

export const importAnswer = z.object({
  result: z.object({ recs_added: z.int(), total_records_parsed: z.int() }),
  success: z.literal(true),
  errors: z.array(message),
  messages: z.array(message).describe('Records omitted because they already exist'),
  diff: diff.optional(),
  timing: z.object({ start_time: time, end_time: time, process_time: z.number().describe('Seconds') }),
});

export const asOf = z
  .string()
  .optional()
  .describe('Show a past state: an RFC 3339 time, a serial, a change, or `change:N`, `serial:N`, `version:N`');

export const withShadow = z
  .enum(['true', 'false'])
  .optional()
  .describe('Say in `meta` what keeps it from being answered');

const textFilters = (name: string) => ({
  [name]: z.string().optional(),
  [`${name}.exact`]: z.string().optional(),
  [`${name}.contains`]: z.string().optional(),
  [`${name}.startswith`]: z.string().optional(),
  [`${name}.endswith`]: z.string().optional(),
});

export const recordQuery = z.object({
  ...textFilters('name'),
  ...textFilters('content'),
  type: z.string().optional().describe('One or more, separated by commas or repeated'),
  proxied: z.enum(['true', 'false']).optional(),
  ...textFilters('comment'),
  'comment.present': z.string().optional().describe('Needs no value'),
  'comment.absent': z.string().optional().describe('Needs no value'),
  'expires_on.present': z.string().optional().describe('Only records with an `expires_on`. Needs no value; ours'),
  tag: z.string().optional().describe('`name:value`, or a name; repeatable'),
  'tag.exact': z.string().optional(),
  'tag.contains': z.string().optional(),
  'tag.startswith': z.string().optional(),
  'tag.endswith': z.string().optional(),
  'tag.present': z.string().optional(),
  'tag.absent': z.string().optional(),
  match,
  tag_match: z.enum(['all', 'any']).optional(),
  include_shadow_metadata: withShadow.describe('Limits the page size to 1000'),
  shadowed_by_name: z.string().optional().describe('Records at and below a delegation; needs include_shadow_metadata'),
  shadowing_name: z.string().optional().describe('NS records at a name and above it'),
  as_of: asOf,
  search: z.string().optional().describe('Words that occur in name, type, content, comment or a tag'),
  order: z
    .enum(RECORD_ORDERS)
    .optional()
    .describe(
      '`name` compares names as text. `canonical` (ours) is the order of names in RFC 4034 §6.1: the apex first, then each name before the names below it. Default: by name as text; in a zone with more than 20 000 records, canonical',
    ),
  direction,
  ...pageQuery,
});
