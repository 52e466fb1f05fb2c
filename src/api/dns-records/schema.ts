/** Shapes of DNS records on the wire (v4: §5, §6); the members of `data` come from the record types themselves. */
import { z } from 'zod';
import { TYPES } from '../../dns/rr/registry.js';
import type { DataMember } from '../../dns/rr/type.js';
import { diff, direction, identifier, match, message, pageQuery, time } from '../schema.js';

export const RECORD_ORDERS = ['type', 'name', 'content', 'ttl', 'proxied'] as const;

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
});

export const record = z
  .object({
    id: z.string(),
    zone_id: z.string(),
    zone_name: z.string(),
    name: z.string().describe('Fully qualified, lower-case punycode, without final dot'),
    type: recordType,
    content: z.string(),
    priority: z.int().optional().describe('MX, SRV and URI'),
    proxiable: z.boolean(),
    proxied: z.boolean(),
    ttl: z.int().describe('Seconds; 1 = automatic'),
    settings: recordSettings,
    data: recordData.optional(),
    private_routing: z.boolean().optional(),
    locked: z.literal(false),
    meta: z.object({
      auto_added: z.boolean(),
      managed_by_apps: z.boolean(),
      managed_by_argo_tunnel: z.boolean(),
      source: z.string(),
      target: z
        .object({ status: z.enum(['nowhere', 'unreachable', 'stale']), reason: z.string() })
        .optional()
        .describe('Of a CNAME that is proxied or flattened, when something is wrong with where it leads; ours'),
      shadowed_by: z.array(z.string()).optional().describe('NS records that keep it from being answered'),
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

/** Members of a record a client sends. Unknown ones are ignored and null stands for absent (v4: §0.9). */
const writable = {
  content: z.string().nullish().describe('Value as text; for TXT it is answered exactly as sent'),
  data: recordData.nullish().describe('Value in parts; goes before `content` when both are there'),
  ttl: z.number().nullish().describe('Seconds; 1, 0 or absent = automatic'),
  proxied: z.boolean().nullish(),
  priority: z.number().nullish().describe('MX and URI; ignored on other types'),
  comment: z.string().nullish(),
  tags: z.array(z.string()).nullish().describe('`name:value` each'),
  settings: recordSettings.nullish(),
  private_routing: z.boolean().nullish(),
};

export const recordCreation = z
  .object({
    type: recordType,
    name: z.string().describe('`@` for the apex, relative to the zone, or fully qualified'),
    ...writable,
  })
  .meta({ id: 'DnsRecordCreation' });

export const recordEdit = z
  .object({ type: recordType.optional(), name: z.string().optional(), ...writable })
  .meta({ id: 'DnsRecordEdit', description: 'PATCH: absent members stay. PUT: they return to their defaults.' });

const recordChange = z.object({ id: z.string(), ...recordEdit.shape });

export const batchBody = z
  .object({
    deletes: z.array(z.object({ id: z.string() })).nullish(),
    patches: z.array(recordChange).nullish(),
    puts: z.array(recordChange).nullish(),
    posts: z.array(recordCreation).nullish(),
  })
  .meta({ id: 'DnsRecordBatch', description: 'Done in this order, all or nothing.' });

export const batchResult = z.object({
  deletes: z.array(record).describe('The records as they were'),
  patches: z.array(record),
  puts: z.array(record),
  posts: z.array(record),
});

export const usage = z.object({ record_quota: z.int().nullable(), record_usage: z.int() });

export const importForm = z.object({
  file: z.string().describe('Zone file (RFC 1035 §5), at most 256 KiB'),
  proxied: z.enum(['true', 'false']).optional().describe('Whether records that can be proxied become so'),
});

export const importAnswer = z.object({
  result: z.object({ recs_added: z.int(), total_records_parsed: z.int() }),
  success: z.literal(true),
  errors: z.array(message),
  messages: z.array(message).describe('Records left out because they exist already'),
  diff: diff.optional(),
  timing: z.object({ start_time: time, end_time: time, process_time: z.number().describe('Seconds') }),
});

export const asOf = z
  .string()
  .optional()
  .describe('The records as they were: an RFC 3339 time, a serial, a change, or `change:N`, `serial:N`, `version:N`');

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
  type: z.string().optional().describe('One or several, separated by commas or repeated'),
  proxied: z.enum(['true', 'false']).optional(),
  ...textFilters('comment'),
  'comment.present': z.string().optional().describe('Needs no value'),
  'comment.absent': z.string().optional().describe('Needs no value'),
  tag: z.string().optional().describe('`name:value`, or a name; repeatable'),
  'tag.exact': z.string().optional(),
  'tag.contains': z.string().optional(),
  'tag.startswith': z.string().optional(),
  'tag.endswith': z.string().optional(),
  'tag.present': z.string().optional(),
  'tag.absent': z.string().optional(),
  match,
  tag_match: z.enum(['all', 'any']).optional(),
  include_shadow_metadata: z.enum(['true', 'false']).optional().describe('At most 1000 a page then'),
  shadowed_by_name: z.string().optional().describe('Records at and below a delegation; needs include_shadow_metadata'),
  shadowing_name: z.string().optional().describe('NS records at a name and above it'),
  as_of: asOf,
  search: z.string().optional().describe('Words that occur in name, type, content, comment or a tag'),
  order: z.enum(RECORD_ORDERS).optional(),
  direction,
  ...pageQuery,
});
