/** `/accounts/{account_id}/r2/buckets/{bucket_name}/cors`, `/lifecycle` and `/lock`: the rules of a bucket (v4: §13). */
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { BucketPlace } from '../../bucket/domains.js';
import { bucketFailure } from '../../bucket/errors.js';
import { DEFAULT_RULES } from '../../bucket/rules/lifecycle.js';
import { getRules, type RuleOf, setRules } from '../../bucket/rules/rule-sets.js';
import type { RuleKind } from '../../store/objects/rules.js';
import { success } from '../envelope.js';
import { jurisdictionOf } from '../r2-buckets/request.js';
import { bucketHeaders, bucketParams } from '../r2-buckets/schema.js';
import { type Routes, routes } from '../routing/route.js';
import { answersOne } from '../schema.js';
import { ruleLists } from './schema.js';

const ONE = '/accounts/:account_id/r2/buckets/:bucket_name';

interface RuleRoutes<Kind extends RuleKind> {
  readonly kind: Kind;
  readonly name: string;
  /** What a bucket has for which none were set. Undefined: that is refused. */
  readonly none: readonly RuleOf[Kind][] | undefined;
}

function placeOf(request: FastifyRequest): BucketPlace {
  const { account_id, bucket_name } = request.params as z.output<typeof bucketParams>;
  return { accountId: account_id, name: bucket_name, jurisdiction: jurisdictionOf(request) };
}

function addRules<Kind extends RuleKind>(app: Routes, { kind, name, none }: RuleRoutes<Kind>): void {
  const schema = { params: bucketParams, headers: bucketHeaders };
  app.get(
    `${ONE}/${kind}`,
    { ...schema, summary: `Get the ${name} of a bucket`, response: answersOne(ruleLists[kind].required()) },
    async (ctx, request) => {
      const rules = getRules(ctx, placeOf(request), kind) ?? none;
      if (!rules) throw bucketFailure('corsMissing');
      return success({ rules: [...rules] }) as never;
    },
  );
  app.put(
    `${ONE}/${kind}`,
    {
      oneCommit: true,
      ...schema,
      summary: `Replace the ${name} of a bucket`,
      body: ruleLists[kind],
      answer: z.object({}),
    },
    async (ctx, request) => {
      const { rules = [] } = request.body as { readonly rules?: readonly RuleOf[Kind][] | undefined };
      await setRules(ctx, placeOf(request), kind, rules);
      return {};
    },
  );
}

export const bucketRulesRoutes = routes({ tags: ['Buckets'], area: 'buckets' }, (app) => {
  addRules(app, { kind: 'cors', name: 'CORS rules', none: undefined });
  addRules(app, { kind: 'lifecycle', name: 'lifecycle rules', none: DEFAULT_RULES });
  addRules(app, { kind: 'lock', name: 'locks', none: [] });
  app.delete(
    `${ONE}/cors`,
    {
      oneCommit: true,
      summary: 'Remove the CORS rules of a bucket',
      params: bucketParams,
      headers: bucketHeaders,
      answer: z.object({}),
    },
    async (ctx, request) => {
      await setRules(ctx, placeOf(request), 'cors', []);
      return {};
    },
  );
});
