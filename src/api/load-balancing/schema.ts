/** Shapes of load balancing (v4). The use cases know which values mean something; here are members and types. */
import { z } from 'zod';
import { AFFINITIES, STEERING_POLICIES } from '../../balancing/load-balancer.js';
import { MONITOR_TYPES } from '../../balancing/monitor.js';
import { ORIGIN_POLICIES } from '../../balancing/pool.js';
import { REGIONS } from '../../balancing/region-codes.js';
import { invalid } from '../../control/balancing/errors.js';
import { type BodyFault, refusedWith } from '../body-schema.js';
import { identifier, time } from '../schema.js';
import { zoneParams } from '../zones/schema.js';

export const balancerParams = zoneParams.extend({ load_balancer_id: identifier('load balancer') });
/** Besides those of the account. */
export const monitorParams = z.object({ monitor_id: identifier('monitor') });
export const groupParams = z.object({ monitor_group_id: identifier('monitor group') });
export const poolParams = z.object({ pool_id: identifier('pool') });

/** Load balancing has a code of its own for bodies in another form. */
function body<Schema extends z.ZodType>(schema: Schema): Schema {
  return refusedWith(schema, ({ text, pointer }: BodyFault) => invalid(text, pointer));
}

const text = z.string().nullish();
const flag = z.boolean().nullish();
const number = z.number().nullish();
const texts = z.array(z.string()).nullish();

const monitorMembers = {
  type: z.enum(MONITOR_TYPES).nullish().describe('Default `http`'),
  description: text,
  method: text.describe('`GET` (default) or `HEAD`; `connection_established` for tcp'),
  path: text.describe('Default `/`'),
  header: z.record(z.string(), z.array(z.string())).nullish(),
  port: number.describe('0 or null: that of the type; tcp, udp_icmp and smtp need one'),
  expected_codes: text.describe('Such as `200`, `2xx` or `200,301-303`; default `200`'),
  expected_body: text.describe('Part of the first 10 KiB of the body, in any case'),
  follow_redirects: flag,
  allow_insecure: flag.describe('Whether any certificate will do'),
  probe_zone: text,
  interval: number.describe('Seconds; default 60'),
  timeout: number.describe('Seconds; default 5'),
  retries: number.describe('After a timeout, at once; default 2'),
  consecutive_up: number,
  consecutive_down: number,
};

export const monitorBody = body(
  z.object(monitorMembers).meta({
    id: 'MonitorBody',
    examples: [{ type: 'https', path: '/health', expected_codes: '2xx', interval: 60 }],
  }),
);

const own = { id: z.string(), created_on: time, modified_on: time };

/** Members that clients wrote, and those with defaults; their types are those of the body. */
const shown = z.looseObject(own);

export const monitor = shown.extend(monitorMembers).meta({ id: 'Monitor' });

const groupMember = z.object({
  monitor_id: z.string(),
  enabled: z.boolean(),
  monitoring_only: z.boolean().describe('Its results are shown and decide nothing'),
  must_be_healthy: z.boolean().describe('What it finds unhealthy is unhealthy'),
});

const groupMembers = { description: text, members: z.array(groupMember) };

export const groupBody = body(
  z.object(groupMembers).meta({
    id: 'MonitorGroupBody',
    examples: [
      {
        description: 'web and mail',
        members: [
          {
            monitor_id: '023e105f4ecef8ad9ca31a8372d0c353',
            enabled: true,
            monitoring_only: false,
            must_be_healthy: true,
          },
        ],
      },
    ],
  }),
);

export const groupEdit = body(
  z.object({ description: text, members: z.array(groupMember).nullish() }).meta({ id: 'MonitorGroupEdit' }),
);

export const group = shown
  .extend({ description: z.string(), members: z.array(groupMember.extend({ created_at: time, updated_at: time })) })
  .meta({ id: 'MonitorGroup' });

const origin = z.object({
  name: z.string(),
  address: z.string().describe('An IPv4 or IPv6 address, or a host name'),
  enabled: flag,
  weight: number.describe('0 to 1 in steps of 0.01; 0: no new traffic. Default 1'),
  port: number.describe('0: that of the scheme. Answers in DNS do not depend on it'),
  header: z.object({ Host: texts }).nullish().describe('Host: one host name in a zone of the account'),
  flatten_cname: flag.describe('Default true. False: the answer in DNS is a CNAME'),
  virtual_network_id: text,
});

const filterOptions = z.object({ disable: flag, healthy: flag }).nullish();

const poolMembers = {
  description: text,
  enabled: flag,
  minimum_origins: number.describe('With fewer healthy origins the pool is unhealthy; 0: never. Default 1'),
  monitor: text,
  monitor_group: text,
  check_regions: texts.describe('Null: all'),
  health_sources: texts.describe('Null, or `["regional", "global"]`'),
  latitude: number,
  longitude: number,
  load_shedding: z
    .object({
      default_percent: number,
      default_policy: z.enum(['random', 'hash']).nullish(),
      session_percent: number,
      session_policy: z.enum(['hash']).nullish(),
    })
    .nullish(),
  origin_steering: z.object({ policy: z.enum(ORIGIN_POLICIES).nullish() }).nullish(),
  notification_email: text,
  notification_filter: z.object({ pool: filterOptions, origin: filterOptions }).nullish(),
  networks: texts,
};

export const poolBody = body(
  z.object({ name: z.string(), origins: z.array(origin), ...poolMembers }).meta({
    id: 'PoolBody',
    examples: [{ name: 'web', origins: [{ name: 'web-1', address: '192.0.2.1' }] }],
  }),
);

export const poolEdit = body(
  z.object({ name: text, origins: z.array(origin).nullish(), ...poolMembers }).meta({
    id: 'PoolEdit',
    description: 'PATCH: absent members stay unchanged.',
    examples: [{ enabled: false }],
  }),
);

export const poolsEdit = body(
  z.object({ notification_email: z.string() }).meta({ id: 'PoolsEdit', examples: [{ notification_email: '' }] }),
);

export const pool = shown
  .extend({ name: z.string(), origins: z.array(z.looseObject({ name: z.string(), address: z.string() })) })
  .meta({ id: 'Pool' });

const poolMap = z.record(z.string(), z.array(z.string())).nullish();

const fixedResponse = z
  .object({ status_code: number, content_type: text, location: text, message_body: text })
  .nullish();

const steering = {
  ttl: number.describe('Seconds, of answers that are not proxied. Default 30'),
  steering_policy: z
    .enum(STEERING_POLICIES)
    .nullish()
    .describe('Empty or absent: `geo` if there are pools for regions, countries or places, otherwise `off`'),
  region_pools: poolMap.describe(`By region: ${REGIONS.join(', ')}`),
  country_pools: poolMap.describe('By country, two letters'),
  pop_pools: poolMap.describe('By place of the server, three letters (`location-code`)'),
  random_steering: z
    .object({ default_weight: number, pool_weights: z.record(z.string(), z.number()).nullish() })
    .nullish(),
  location_strategy: z
    .object({
      mode: z.enum(['pop', 'resolver_ip']).nullish(),
      prefer_ecs: z.enum(['always', 'never', 'proximity', 'geo']).nullish(),
    })
    .nullish(),
  session_affinity: z.enum(AFFINITIES).nullish(),
  session_affinity_ttl: number,
  session_affinity_attributes: z
    .object({
      drain_duration: number,
      headers: texts,
      require_all_headers: flag,
      samesite: z.enum(['Auto', 'Lax', 'None', 'Strict']).nullish(),
      secure: z.enum(['Auto', 'Always', 'Never']).nullish(),
      zero_downtime_failover: z.enum(['none', 'temporary', 'sticky']).nullish(),
    })
    .nullish(),
  adaptive_routing: z.object({ failover_across_pools: flag }).nullish(),
};

/** Of the conditions of a pool set or a rule. */
const flat = {
  pools: texts.describe('Replaces all other lists of pools'),
  pool_default_weight: number,
  pool_weights: z.record(z.string(), z.number()).nullish(),
};

const rule = z.object({
  name: text,
  condition: text.describe('Empty: always true'),
  disabled: flag,
  priority: number,
  terminates: flag,
  fixed_response: fixedResponse,
  overrides: z.object({ ...steering, ...flat, default_pools: texts, fallback_pool: text }).nullish(),
});

const poolSet = z.object({
  name: text,
  disabled: flag,
  match: z
    .object({
      default: flag,
      topology: z.object({ pops: texts, countries: texts, regions: texts }).nullish(),
    })
    .nullish(),
  fixed_response: fixedResponse,
  overrides: z
    .object({
      ...flat,
      fallback_pool: text,
      steering_policy: z.enum(STEERING_POLICIES).nullish(),
    })
    .nullish(),
});

const balancerMembers = {
  ...steering,
  description: text,
  enabled: flag.describe('False: other records of the name are answered again. Default true'),
  proxied: flag.describe('Default false'),
  rules: z.array(rule).nullish(),
  pool_sets: z.array(poolSet).nullish(),
  networks: texts,
  answer: z
    .enum(['one', 'all'])
    .nullish()
    .describe('One address, or those of all healthy origins; default `one` (ours)'),
  transfer_health: flag.describe(
    'Whether transfers follow the health of origins, within half a minute; default false (ours)',
  ),
};

export const balancerBody = body(
  z
    .object({
      name: z.string().describe('The name of the zone, or one below it; `*.` begins a wildcard'),
      default_pools: z.array(z.string()).describe('Identifiers of pools in the order of failover'),
      fallback_pool: z.string().describe('Used when all others are unhealthy, whatever its own health'),
      ...balancerMembers,
    })
    .meta({
      id: 'LoadBalancerBody',
      examples: [
        {
          name: 'www.example.com',
          default_pools: ['17b5962d775c646f3f9725cbc7a53df4'],
          fallback_pool: '17b5962d775c646f3f9725cbc7a53df4',
        },
      ],
    }),
);

export const balancerEdit = body(
  z.object({ name: text, default_pools: texts, fallback_pool: text, ...balancerMembers }).meta({
    id: 'LoadBalancerEdit',
    description: 'PATCH: absent members stay unchanged, and so do pool sets that are null; an empty list removes them.',
    examples: [{ enabled: false }],
  }),
);

export const balancer = shown
  .extend({ name: z.string(), zone_name: z.string(), default_pools: z.array(z.string()), fallback_pool: z.string() })
  .meta({ id: 'LoadBalancer' });

const resourceType = z.enum(['load_balancer', 'monitor', 'monitor_group', 'pool']);

export const reference = z
  .object({
    reference_type: z.enum(['*', 'referral', 'referrer']),
    resource_id: z.string(),
    resource_name: z.string(),
    resource_type: resourceType,
  })
  .meta({ id: 'BalancingReference' });

export const searchQuery = z.object({
  query: z.string().optional().describe('Part of a name, a description, an address or an identifier'),
  references: z.enum(['', '*', 'referral', 'referrer']).optional(),
  page: z.string().optional(),
  per_page: z.string().optional(),
});

const foundResources = z.object({
  resources: z.array(
    z.object({
      reference_type: z.enum(['*', 'referral', 'referrer']),
      references: z.array(reference),
      resource_id: z.string(),
      resource_name: z.string(),
      resource_type: resourceType,
    }),
  ),
});

export const searchResult = foundResources
  .extend({ items: z.array(foundResources).describe('The same once more, for clients that expect pages of it') })
  .meta({ id: 'BalancingSearch' });

export type BalancingPool = z.output<typeof pool>;
export type LoadBalancer = z.output<typeof balancer>;
