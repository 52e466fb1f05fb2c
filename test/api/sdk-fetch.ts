/** Requests of the vendor's SDK, without a network. */
import type { Installation } from './installation.js';

export async function sent({ app }: Installation, url: string, init: RequestInit | undefined): Promise<Response> {
  const { pathname, search } = new URL(url);
  const answer = await app.inject({
    method: (init?.method ?? 'GET').toUpperCase() as 'GET',
    url: pathname + search,
    headers: Object.fromEntries(new Headers(init?.headers as Record<string, string>)),
    ...(init?.body ? { payload: init.body as string } : {}),
  });
  return new Response(answer.statusCode === 204 ? null : answer.body, {
    status: answer.statusCode,
    headers: answer.headers as Record<string, string>,
  });
}
