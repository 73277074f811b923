export const openapiTools: { readonly spectral: string; readonly schemathesis: string }
