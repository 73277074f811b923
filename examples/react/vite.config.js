export default { server: { proxy: { '/api': 'http://127.0.0.1:8081' } } } // the API: node ../serve.mjs 8081
