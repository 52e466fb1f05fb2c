/** `/accounts/{account_id}/r2/buckets/{bucket_name}/application`: what the bucket application does with a bucket (ours). */
import { bindBucket, getBucket, isServedBucket } from '../../bucket/buckets.js';
import type { Context } from '../../control/kernel/context.js';
import type { Jurisdiction } from '../../store/objects/buckets.js';
import { success } from '../envelope.js';
import { jurisdictionOf } from '../r2-buckets/request.js';
import { bucketHeaders, bucketParams } from '../r2-buckets/schema.js';
import { routes } from '../routing/route.js';
import { answersOne } from '../schema.js';
import { bucketApplication, bucketBinding } from './schema.js';

/** The bucket application as it runs beside the API. */
export interface ApplicationFacts {
  /** Undefined when it does not listen. */
  readonly url: string | undefined;
  readonly allowList: readonly string[];
}

export interface ApplicationRouteOptions {
  readonly application: ApplicationFacts | undefined;
}

const PATH = '/accounts/:account_id/r2/buckets/:bucket_name/application';
const about = {
  tags: ['Buckets'],
  params: bucketParams,
  headers: bucketHeaders,
  response: answersOne(bucketApplication),
};

export const bucketApplicationRoutes = routes<ApplicationRouteOptions>({ area: 'buckets' }, (app, { application }) => {
  const view = async (
    context: Context,
    ...place: readonly [account: string, name: string, jurisdiction: Jurisdiction]
  ) => {
    const { bindings } = await getBucket(context, ...place);
    const served = isServedBucket(context, ...place);
    const facts = served ? application : undefined;
    return { bindings: [...bindings], served, url: facts?.url ?? null, allow_list: [...(facts?.allowList ?? [])] };
  };

  app.get(PATH, { ...about, summary: 'Say what the bucket application does with a bucket' }, async (ctx, request) => {
    const { account_id, bucket_name } = request.params;
    return success(await view(ctx, account_id, bucket_name, jurisdictionOf(request)));
  });

  app.put(
    PATH,
    {
      ...about,
      summary: 'Let the bucket application serve a bucket',
      description:
        'Only for administrators: there is one bucket application, which serves the bucket that was bound last.',
      body: bucketBinding,
    },
    async (ctx, request) => {
      const { account_id, bucket_name } = request.params;
      const jurisdiction = jurisdictionOf(request);
      await bindBucket(ctx, account_id, bucket_name, jurisdiction, request.body.binding);
      return success(await view(ctx, account_id, bucket_name, jurisdiction));
    },
  );
});
