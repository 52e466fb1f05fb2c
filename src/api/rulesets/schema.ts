/** Shapes of rulesets (v4). The use cases know which phases, actions and parameters there are; here are members and types. */
import { z } from 'zod';
import { PHASES } from '../../rulesets/phases.js';
import { identifier, time } from '../schema.js';
import { zoneParams } from '../zones/schema.js';

const phaseName = z
  .string()

  .describe(`One of ${PHASES.map((phase) => `\`${phase}\``).join(', ')}`);
const versionNumber = z.string();

export const phaseParams = zoneParams.extend({ phase: phaseName });
export const phaseVersionParams = phaseParams.extend({ version: versionNumber });
export const rulesetParams = zoneParams.extend({ ruleset_id: identifier('ruleset') });
export const versionParams = rulesetParams.extend({ version: versionNumber });
export const ruleParams = rulesetParams.extend({ rule_id: identifier('rule') });

/** What the use cases check, so that each fault has its place. */
const anything = z.unknown();

const EXAMPLE = {
  action: 'redirect',
  expression: 'http.host eq "old.example.com"',
  description: 'the old name',
  action_parameters: {
    from_value: {
      status_code: 301,
      target_url: { expression: 'concat("https://www.example.com", http.request.uri.path)' },
      preserve_query_string: true,
    },
  },
};

const ruleMembers = {
  action: anything.optional().describe('`redirect` in http_request_dynamic_redirect, otherwise `rewrite`'),
  action_parameters: anything
    .optional()
    .describe('`from_value` of a redirect; `uri` with `path` and `query`, or `headers`, of a rewrite'),
  expression: anything.optional().describe('Which requests it matches; `true`: all'),
  description: anything.optional(),
  enabled: anything.optional().describe('Default true'),
  ref: anything.optional().describe('Default: its id'),
  logging: anything.optional().describe('Kept, without effect'),
};

export const ruleBody = z
  .looseObject({
    ...ruleMembers,
    position: anything
      .optional()
      .describe('`{"before": id}`, `{"after": id}` or `{"index": n}`, from 1; default: the end'),
  })
  .meta({ id: 'RuleBody', examples: [EXAMPLE] });

export const rulesetBody = z
  .looseObject({
    name: anything.optional(),
    description: anything.optional(),
    kind: anything.optional().describe('`zone`'),
    phase: anything.optional().describe('Needed to create one'),
    rules: anything.optional().describe('All rules, in order; absent: they stay as they are'),
  })
  .meta({
    id: 'RulesetBody',
    examples: [{ name: 'redirects', kind: 'zone', phase: 'http_request_dynamic_redirect', rules: [EXAMPLE] }],
  });

const rule = z
  .object({
    ...{ id: z.string(), version: z.string(), last_updated: time, ref: z.string(), enabled: z.boolean() },
    ...{ action: z.string(), expression: z.string(), description: z.string().optional() },
    ...{ action_parameters: z.unknown(), logging: z.unknown().optional() },
  })
  .meta({ id: 'Rule' });

const listed = {
  ...{ id: z.string(), name: z.string(), description: z.string(), kind: z.literal('zone'), phase: z.string() },
  ...{ version: z.string().describe('Counts changes'), last_updated: time },
};

export const listedRuleset = z.object(listed).meta({ id: 'ListedRuleset' });
export const ruleset = z.object({ ...listed, rules: z.array(rule) }).meta({ id: 'Ruleset' });

export type ListedRulesetShape = z.output<typeof listedRuleset>;
export type RulesetShape = z.output<typeof ruleset>;
export type RuleShape = z.output<typeof rule>;

const fields = z.array(z.object({ name: z.string(), value: z.string() }));
export const ruleTrial = z
  .object({
    applied: z
      .array(z.object({ phase: z.string(), id: z.string(), description: z.string() }))
      .describe('The rules that do something, in order; `always_use_https` is the setting'),
    redirect: z.object({ status: z.int(), location: z.string() }).nullable(),
    loops: z.boolean().describe('Whether the redirects of this zone go in a circle'),
    target: z.string().describe('Path and query for the cache and the origin'),
    request_headers: fields.describe('Those of the request as the rules leave them'),
    response_headers: fields.describe('Those that the rules add to an empty response'),
  })
  .meta({ id: 'RuleTrial' });

export type RuleTrialShape = z.output<typeof ruleTrial>;
