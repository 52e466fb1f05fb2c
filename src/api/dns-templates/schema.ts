/** Shapes of templates (ours): what they are, and what applying them does. The use case examines what their texts mean. */
import { z } from 'zod';
import { MOST_ZONES } from '../../control/templates/apply.js';
import { MOST_RECORDS, MOST_VARIABLES } from '../../control/templates/template.js';
import { VARIABLE_TYPES } from '../../control/templates/variables.js';
import { accountParams } from '../accounts/schema.js';
import { listOf } from '../body-schema.js';
import { record, recordCreation } from '../dns-records/schema.js';
import { identifier, message, time } from '../schema.js';

export const templateParams = accountParams.extend({ template_id: identifier('template') });

const variable = z.object({
  name: z.string().describe('Lower-case letters, digits and underscores; texts refer to it as `{name}`'),
  type: z.enum(VARIABLE_TYPES),
  default: z.string().optional().describe('Absent: a value must be given'),
  description: z.string().optional(),
});

const templateRecord = recordCreation.omit({ expires_on: true }).meta({
  id: 'TemplateRecord',
  description: 'A record whose texts may have variables; `{zone}` is the name of the zone',
});

export const template = z
  .object({
    id: z.string(),
    name: z.string(),
    description: z.string(),
    variables: z.array(variable),
    records: z.array(templateRecord),
    version: z.int().describe('Grows by one with each change'),
    created_on: time,
    modified_on: time,
  })
  .meta({ id: 'DnsTemplate' });

export type DnsTemplate = z.output<typeof template>;

export const templateBody = z
  .looseObject({
    name: z.string(),
    description: z.string().nullish(),
    variables: listOf(z.looseObject({ name: z.string() }), 0, MOST_VARIABLES, 'variables').nullish(),
    records: listOf(z.looseObject({ type: z.string() }), 1, MOST_RECORDS, 'records'),
  })
  .meta({
    id: 'DnsTemplateBody',
    examples: [
      {
        name: 'web',
        variables: [{ name: 'ip', type: 'ipv4' }],
        records: [
          { type: 'A', name: '@', content: '{ip}', ttl: 300 },
          { type: 'CNAME', name: 'www', content: '{zone}' },
        ],
      },
    ],
  });

export const importQuery = z.object({
  replace: z.enum(['true', 'false']).optional().describe('Whether it replaces the template of the same name'),
});

export const appliedZone = z
  .object({
    id: z.string(),
    name: z.string(),
    version: z.int().describe('Of the template, when it was applied'),
    applied_on: time,
    values: z.record(z.string(), z.string()),
  })
  .meta({ id: 'DnsTemplateZone' });

export type TemplateZone = z.output<typeof appliedZone>;

export const applyBody = z
  .object({
    zones: listOf(z.string(), 1, MOST_ZONES, 'identifiers of zones')
      .nullish()
      .describe('Absent: those to which it was applied before, and that the credential may edit'),
    values: z
      .record(z.string(), z.union([z.string(), z.number()]))
      .nullish()
      .describe('Of variables. Absent ones keep the value that they had in the zone, or have their default'),
    preview: z.boolean().nullish().describe('Say what would be done, and do nothing'),
    force: z.boolean().nullish().describe('Overwrite what was edited by hand, and what others made'),
  })
  .meta({
    id: 'DnsTemplateApplication',
    examples: [{ zones: ['023e105f4ecef8ad9ca31a8372d0c353'], values: { ip: '192.0.2.10' }, preview: true }],
  });

export const application = z
  .object({
    zone: z.object({ id: z.string(), name: z.string().nullable() }),
    status: z.enum(['applied', 'unchanged', 'preview', 'failed']),
    created: z.int(),
    changed: z.int(),
    deleted: z.int(),
    unchanged: z.int(),
    changes: z
      .array(
        z.object({
          action: z.enum(['create', 'change', 'delete']),
          before: record.optional(),
          after: record.optional(),
        }),
      )
      .describe('The first ones: no more than 1,000 in one answer'),
    conflicts: z.array(
      z.object({
        reason: z
          .enum(['edited', 'deleted', 'other'])
          .describe('Edited or deleted by hand, or a record that others made and that differs'),
        record: record.optional().describe('As it is'),
        wanted: z.object({ name: z.string(), type: z.string(), content: z.string() }).optional(),
      }),
    ),
    errors: z.array(message).describe('Why this zone got nothing'),
  })
  .meta({ id: 'DnsTemplateApplied' });

export type TemplateApplication = z.output<typeof application>;
