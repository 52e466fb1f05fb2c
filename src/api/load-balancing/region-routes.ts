/** `…/load_balancers/regions`: the countries of each region (v4: load balancing). */
import { z } from 'zod';
import { isRegion, REGIONS, type Region } from '../../balancing/region-codes.js';
import { countriesOfRegion } from '../../balancing/regions.js';
import { balancingFailure } from '../../control/balancing/errors.js';
import { requireAccount } from '../../control/guard/access.js';
import { accountParams } from '../accounts/schema.js';
import { textValue } from '../query.js';
import { queryOf } from '../request.js';
import type { Routes } from '../routing/route.js';

const regionList = z
  .object({
    iso_standard: z.string(),
    regions: z.array(
      z.object({
        region_code: z.string(),
        countries: z.array(
          z.object({
            country_code_a2: z.string(),
            country_name: z.string(),
            country_subdivisions: z
              .array(z.object({ subdivision_code_a2: z.string(), subdivision_name: z.string() }))
              .optional(),
          }),
        ),
      }),
    ),
  })
  .meta({ id: 'BalancingRegions' });

const regionQuery = z.object({
  country_code_a2: z.string().optional().describe('Two letters: only the regions of this country'),
  subdivision_code: z.string().optional().describe('The same as `subdivision_code_a2`'),
  subdivision_code_a2: z.string().optional().describe('Two letters, of the United States and Canada'),
});

interface Wanted {
  readonly country?: string | undefined;
  readonly subdivision?: string | undefined;
}

function listed(codes: readonly Region[], { country, subdivision }: Wanted): z.output<typeof regionList> {
  const regions = codes.flatMap((region_code) => {
    const countries = countriesOfRegion(region_code)
      .filter(({ code }) => country === undefined || code === country)
      .flatMap(({ code, name, subdivisions }) => {
        const wanted = subdivisions?.filter((one) => subdivision === undefined || one.code === subdivision);
        if (subdivision !== undefined && !wanted?.length) return [];
        const country_subdivisions = wanted?.map((one) => {
          return { subdivision_code_a2: one.code, subdivision_name: one.name };
        });
        const shown = { country_code_a2: code, country_name: name };
        return [country_subdivisions ? { ...shown, country_subdivisions } : shown];
      });
    return countries.length === 0 ? [] : [{ region_code, countries }];
  });
  return { iso_standard: 'Country and subdivision codes follow ISO 3166-1 alpha-2 and ISO 3166-2', regions };
}

export function addRegions(app: Routes, base: string): void {
  app.get(
    `${base}/regions`,
    { summary: 'List regions', params: accountParams, querystring: regionQuery, answer: regionList },
    async (ctx, request) => {
      requireAccount(ctx, request.params.account_id);
      const query = queryOf(request);
      const subdivision = textValue(query, 'subdivision_code_a2') ?? textValue(query, 'subdivision_code');
      return listed(REGIONS, {
        country: textValue(query, 'country_code_a2')?.toUpperCase(),
        subdivision: subdivision?.toUpperCase(),
      });
    },
  );
  app.get(
    `${base}/regions/:region_code`,
    { summary: 'Get a region', params: accountParams.extend({ region_code: z.string() }), answer: regionList },
    async (ctx, { params }) => {
      requireAccount(ctx, params.account_id);
      const code = params.region_code.toUpperCase();
      if (!isRegion(code)) throw balancingFailure('regionMissing');
      return listed([code], {});
    },
  );
}
