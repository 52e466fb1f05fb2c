/** Shapes of page rules (v4). The use cases know which actions there are; here are members and types. */
import { z } from 'zod';
import { identifier, time } from '../schema.js';
import { zoneParams } from '../zones/schema.js';

export const pageRuleParams = zoneParams.extend({ pagerule_id: identifier('page rule') });

/** What the use cases check, so that each fault has its place. */
const anything = z.unknown();

const members = {
  targets: anything
    .optional()
    .describe('One: `{"target": "url", "constraint": {"operator": "matches", "value": pattern}}`, with up to four `*`'),
  actions: anything
    .optional()
    .describe('`forwarding_url`, or `always_use_https`, `browser_cache_ttl`, `cache_level`, `ssl`'),
  priority: anything
    .optional()
    .describe('Of the page rules that match, the one with the highest priority counts; default 1'),
  status: anything.optional().describe('`active` or `disabled` (default)'),
};

export const pageRuleBody = z.looseObject(members).meta({
  id: 'PageRuleBody',
  examples: [
    {
      targets: [{ target: 'url', constraint: { operator: 'matches', value: 'www.example.com/old/*' } }],
      actions: [{ id: 'forwarding_url', value: { url: 'https://www.example.com/new/$1', status_code: 301 } }],
      status: 'active',
    },
  ],
});

export const pageRule = z
  .object({
    id: z.string(),
    targets: z.array(z.unknown()),
    actions: z.array(z.unknown()),
    priority: z.int(),
    status: z.enum(['active', 'disabled']),
    created_on: time,
    modified_on: time,
  })
  .meta({ id: 'PageRule' });

export type PageRuleShape = z.output<typeof pageRule>;

export const listQuery = z.object({
  status: z.string().optional().describe('`active` or `disabled`; absent: both'),
  order: z.string().optional().describe('`priority` (default) or `status`'),
  direction: z.string().optional().describe('`desc` (default) or `asc`'),
});
