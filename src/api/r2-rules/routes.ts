/** `/accounts/{account_id}/r2/buckets/{bucket_name}/cors`, `/lifecycle` and `/lock`: the rules of a bucket (v4: §13). */
import type { FastifyRequest } from 'fastify';
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { z } from 'zod';
import type { BucketPlace } from '../../bucket/domains.js';
import { bucketFailure } from '../../bucket/errors.js';
import { DEFAULT_RULES } from '../../bucket/rules/lifecycle.js';
import { getRules, type RuleOf, setRules } from '../../bucket/rules/rule-sets.js';
import type { RuleKind } from '../../store/objects/rules.js';
import { success } from '../envelope.js';
import { jurisdictionOf } from '../r2-buckets/request.js';
import { bucketHeaders, bucketParams } from '../r2-buckets/schema.js';
import type { ContextOf } from '../request.js';
import { answersOne } from '../schema.js';
import { ruleLists } from './schema.js';

const tags = ['Buckets'];
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

function rulesRoutes<Kind extends RuleKind>({
  kind,
  name,
  none,
}: RuleRoutes<Kind>): FastifyPluginAsyncZod<{ contextOf: ContextOf }> {
  return async (app, { contextOf }) => {
    const schema = { tags, params: bucketParams, headers: bucketHeaders };
    app.get(
      `${ONE}/${kind}`,
      {
        config: { area: 'buckets' },
        schema: {
          ...schema,
          summary: `Get the ${name} of a bucket`,
          response: answersOne(ruleLists[kind].required()),
        },
      },
      async (request) => {
        const rules = getRules(contextOf(request), placeOf(request), kind) ?? none;
        if (!rules) throw bucketFailure('corsMissing');
        return success({ rules: [...rules] }) as never;
      },
    );
    app.put(
      `${ONE}/${kind}`,
      {
        config: { area: 'buckets', oneCommit: true },
        schema: {
          ...schema,
          summary: `Replace the ${name} of a bucket`,
          body: ruleLists[kind],
          response: answersOne(z.object({})),
        },
      },
      async (request) => {
        const { rules = [] } = request.body as { readonly rules?: readonly RuleOf[Kind][] | undefined };
        await setRules(contextOf(request), placeOf(request), kind, rules);
        return success({});
      },
    );
  };
}

export const bucketRulesRoutes: FastifyPluginAsyncZod<{ contextOf: ContextOf }> = async (app, options) => {
  await rulesRoutes({ kind: 'cors', name: 'CORS rules', none: undefined })(app, options);
  await rulesRoutes({ kind: 'lifecycle', name: 'lifecycle rules', none: DEFAULT_RULES })(app, options);
  await rulesRoutes({ kind: 'lock', name: 'locks', none: [] })(app, options);
  app.delete(
    `${ONE}/cors`,
    {
      config: { area: 'buckets', oneCommit: true },
      schema: {
        tags,
        summary: 'Remove the CORS rules of a bucket',
        params: bucketParams,
        headers: bucketHeaders,
        response: answersOne(z.object({})),
      },
    },
    async (request) => {
      await setRules(options.contextOf(request), placeOf(request), 'cors', []);
      return success({});
    },
  );
};
