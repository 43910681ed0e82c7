// What both styles of the client share.

// Reads what the client says about a failure; error.body is an answer that the client took for a good one.
export function explain(OpenAI, error) {
  if (error instanceof OpenAI.APIError) {
    const { status, type, code, param } = error;
    return { raised: true, status, type, code, param, message: error.error?.message ?? error.message };
  }
  const said = error.body?.error;
  if (said) return { raised: false, type: said.type, code: said.code, param: said.param, message: said.message };
  return { raised: true, message: error.message };
}
